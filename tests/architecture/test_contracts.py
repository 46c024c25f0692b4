"""Contracts that `make test` holds: who imports engines, who reads sealed contents, where the version stands."""

import ast
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.architecture.sources import MODULES, REPOSITORY, ROOT, nodes_of, room_of, text_of, tree_of

from dalenius.version import VERSION

# The ways into a sealed value: its one method, and the attribute that the method reads.
WAYS_IN = ("open_below_the_gate", "_hold")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """The import contracts on a copy of the tree."""
    shutil.copy(REPOSITORY / ".importlinter", folder / ".importlinter")
    code = (
        "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command; lint_imports_command()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


PLANTS = {
    "a server page imports an engine": (
        "server/pages/peeking.py",
        "from dalenius.engines.memory import MemorySource",
        "dalenius.server.pages.peeking -> dalenius.engines.memory",
    ),
    "a method imports an engine": (
        "methods/peeking.py",
        "from dalenius.engines import duckdb",
        "dalenius.methods.peeking -> dalenius.engines.duckdb",
    ),
    "the vocabulary imports the curator": (
        "core/peeking.py",
        "from dalenius.curator import gate",
        "dalenius.core.peeking -> dalenius.curator.gate",
    ),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_import_breaks_the_contracts(plant: str, tmp_path: Path) -> None:
    place, line, message = PLANTS[plant]
    shutil.copytree(ROOT, tmp_path / "dalenius", ignore=shutil.ignore_patterns("__pycache__", "static"))
    (tmp_path / "dalenius" / place).write_text(f'"""Planted."""\n\n{line}\n')
    done = lint(tmp_path)
    assert done.returncode != 0
    assert message in done.stdout


def test_make_test_runs_the_linter_the_types_and_the_import_contracts() -> None:
    plan = subprocess.run(
        ["make", "--dry-run", "--always-make", "test"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    steps = plan.stdout
    for command in ("ruff check .", "ruff format --check .", "lint-imports", "bin/mypy", "bin/pytest"):
        assert command in steps, f"make test does not run {command}"


def readers(tree: ast.AST, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where sealed contents are read: names of the classes and functions around each read."""
    for node in ast.iter_child_nodes(tree):
        inner = place
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = (*place, node.name)
        is_read = isinstance(node, ast.Attribute) and node.attr in WAYS_IN
        # A name that is spelled as text would read by `getattr`, or patch.
        is_spelled = isinstance(node, ast.Constant) and node.value in WAYS_IN
        if is_read or is_spelled:
            yield inner
        yield from readers(node, inner)


def may_read(path: Path, place: tuple[str, ...]) -> bool:
    """Sealed contents are read by the run of a measurement and its examples, by the custodian's door, audits and kits."""
    room = path.relative_to(ROOT).parts[0]
    if room == "measurements":
        return len(place) >= 2 and place[1] in ("run", "examples")
    return room in ("audit", "testing") or path.relative_to(ROOT).as_posix() in (
        "core/sealed.py",
        "curator/inspection.py",
    )


def test_sealed_contents_are_read_by_measurements_and_the_custodians_door_only() -> None:
    for path in MODULES:
        if any(way in text_of(path) for way in WAYS_IN):
            for place in readers(tree_of(path)):
                assert may_read(path, place), f"{path}: {'.'.join(place)} reads a sealed content"


@pytest.mark.parametrize(
    "source",
    [
        "def page(source, query):\n    return source.table(query).open_below_the_gate()",
        "def page(sealed):\n    return sealed._hold()",
        "def page(sealed):\n    return getattr(sealed, 'open_below_the_gate')()",
        "class Noisy:\n    def profile(self, exact):\n        return exact[0].open_below_the_gate()",
    ],
)
def test_a_planted_reader_of_sealed_contents_is_seen(source: str) -> None:
    places = list(readers(ast.parse(source)))
    assert places
    for room in ("server/pages/peeking.py", "measurements/peeking.py", "curator/curator.py"):
        assert not any(may_read(ROOT / room, place) for place in places)


def test_engines_are_looked_up_by_name_below_the_door_only() -> None:
    """A look-up in the registry imports as an import does, and no import contract sees it."""
    for path in MODULES:
        if room_of(path) in ("engines", "curator", "audit", "testing"):
            continue
        for node in nodes_of(path):
            is_lookup = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)
            if is_lookup and any(isinstance(a, ast.Constant) and a.value == "engines" for a in node.args):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                assert name not in ("get", "every", "import_module"), f"{path} looks up engines"


def test_the_version_has_one_source() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    assert "version" not in project["project"] and "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/dalenius/version.py"
    for path in MODULES:
        if path != ROOT / "version.py":
            assert f'"{VERSION}"' not in text_of(path), f"{path} spells the version"
