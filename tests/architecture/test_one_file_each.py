"""What can be asked, how margins are measured, what data are read with, written as and asked for: one file each, named nowhere else.

Formats and inference questions are planted in tests/publish/test_to_tsv.py and tests/inference/test_questions.py; all of them
on a server in tests/server/api/test_planted_extensions.py.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.architecture.plants import ENGINE, METHOD, STATISTIC, STRATEGY
from typer.testing import CliRunner

import dalenius
from dalenius.cli.main import app
from dalenius.core import registry
from dalenius.publish._format import formats
from dalenius.testing.planting import planted

ROOT = Path(dalenius.__file__).parent
ROOMS = ("curator", "cli", "server")
NAMED = ("methods", "methods.margins.strategies", "engines", "publish", "inference.questions")
NAMES = {name for package in NAMED for name in registry.names(package)} | set(formats())

# A word that is also a name, in a sense that is not ours to choose.
OTHER_SENSE = {
    (
        "server/routes/px.py",
        "csv",
    ): "one of two output formats that the specification of PxWeb names; no format of ours",
    ("server/views.py", "labels"): "words of categories in another language, a key of the dataset document",
    ("cli/output.py", "spark"): "what to install when a package is missing; the extra has the engine's name",
}


def deciding(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions that decide by a name: comparisons, cases, look-ups, defaults, and constants of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield from (node.left, *node.comparators)
        elif isinstance(node, ast.MatchValue):
            yield node.value
        elif isinstance(node, ast.Subscript):
            yield node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from node.args if node.func.attr in ("get", "pop", "startswith", "endswith") else ()
        elif isinstance(node, ast.arguments):
            yield from (d for d in (*node.defaults, *node.kw_defaults) if d is not None)
        elif isinstance(node, ast.ClassDef):
            yield from (s.value for s in node.body if isinstance(s, ast.AnnAssign | ast.Assign) and s.value)
    yield from (s.value for s in tree.body if isinstance(s, ast.Assign | ast.AnnAssign) and s.value)


def named_in(text: str) -> set[str]:
    """Names of extensions by which a module decides."""
    constants = (c for e in deciding(ast.parse(text)) for c in ast.walk(e) if isinstance(c, ast.Constant))
    return {c.value for c in constants if isinstance(c.value, str)} & NAMES


def test_no_module_above_the_extensions_decides_by_the_name_of_one() -> None:
    senses = set()
    for path in (p for room in ROOMS for p in sorted((ROOT / room).rglob("*.py"))):
        place = path.relative_to(ROOT).as_posix()
        for name in named_in(path.read_text()):
            assert (place, name) in OTHER_SENSE, f"{place} knows {name!r} by name"
            senses.add((place, name))
    assert senses == set(OTHER_SENSE), "an exception that nothing needs"


def test_no_page_decides_by_the_name_of_an_extension() -> None:
    for path in sorted((ROOT / "server" / "templates").rglob("*.html")):
        for expression in re.findall(r"\{[%{].*?[%}]\}", path.read_text(), re.DOTALL):
            for compared in re.findall(r"""[!=]=\s*["'](\w+)["']""", expression):
                assert compared not in NAMES, f"{path.name} knows {compared!r} by name"


@pytest.mark.parametrize(
    "text",
    [
        'if measure == "median": pass',
        'is_known = name in ("count", "x")',
        'FORMATS = ("tsv",)',
        'METHODS = {"independence": 1}',
        'source = registry.get("engines", "duckdb")',
        'def f(strategy="residual"): pass',
        "class State:\n    measure: str = 'total'",
        "match name:\n    case 'mean': pass",
    ],
)
def test_the_search_finds_what_it_is_for(text: str) -> None:
    assert named_in(text)


def test_no_module_above_the_extensions_imports_one_by_its_file() -> None:
    for path in (p for room in ROOMS for p in sorted((ROOT / room).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text())):
            module = str(getattr(node, "module", "")) if isinstance(node, ast.ImportFrom) else ""
            package, _, name = module.removeprefix("dalenius.").rpartition(".")
            is_named = package in NAMED and name in registry.names(package)
            assert not is_named, f"{path.name} imports {module}"


DATASET = """
[dataset]
name = "d"
population = "p"
source = "data.csv"
[variables.sex]
categories = ["f", "m"]
[variables.town]
categories = ["A", "B"]
[variables.income]
bounds = [0, 4]
step = 1
"""
ROWS = "sex,town,income\nf,A,3\nf,B,4\nm,A,2\n"
POLICY = "[budget]\nrho = 1000\n"


def released(
    folder: Path, table: str, privacy: str = "", source: tuple[str, str] = ("data.csv", ROWS)
) -> dict[str, object]:
    """What `dalenius release` writes, with noise that is zero but for a chance of 1e-20."""
    dataset = DATASET.replace("data.csv", source[0])
    for name, text in (("dataset.toml", dataset), source, ("policy.toml", POLICY)):
        (folder / name).write_text(text)
    request = f'dataset = "dataset.toml"\n[table]\n{table}\n[privacy]\ndefinition = "pure"\nepsilon = 900\n{privacy}'
    (folder / "request.toml").write_text(request)
    ledger, policy = ("--ledger", str(folder / "l.sqlite")), ("--policy", str(folder / "policy.toml"))
    for words in (
        ["register", str(folder / "dataset.toml"), *ledger, *policy],
        ["plan", str(folder / "request.toml"), *policy],
        ["release", str(folder / "request.toml"), *ledger, *policy, "-o", str(folder / "out")],
    ):
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    return json.loads((folder / "out" / "release.json").read_text())  # type: ignore[no-any-return]


def test_a_new_statistic_with_its_request_is_one_file_each(tmp_path: Path) -> None:
    with planted("statistics", "energy", STATISTIC), planted("methods", "energy", METHOD):
        document = released(tmp_path, 'rows = ["sex"]\nmeasure = "energy"\nof = "income"')
    (table,) = document["tables"]  # type: ignore[misc]
    assert (table["measure"], table["values"]) == ("energy", [25, 4])
    assert "energy" not in registry.names("methods")


def test_a_new_strategy_is_one_file(tmp_path: Path) -> None:
    with planted("methods.margins.strategies", "last", STRATEGY):
        document = released(
            tmp_path,
            'rows = ["sex"]\ncolumns = ["town"]\nmargins = "all"\nuniverse = "complete"',
            'strategy = "last"',
        )
    assert document["provenance"]["strategy"] == "last"  # type: ignore[index]
    values = {t["name"]: t["values"] for t in document["tables"]}  # type: ignore[attr-defined]
    assert [1, 1, 1, 0] in [[round(v) for v in cells] for cells in values.values()]


def test_a_new_engine_is_one_file(tmp_path: Path) -> None:
    """The dataset document names a file that no other engine can read."""
    columns = '{"sex": ["f", "f", "m"], "town": ["A", "B", "A"], "income": [3, 4, 2]}'
    with planted("engines", "columns", ENGINE):
        document = released(tmp_path, 'rows = ["sex"]', source=("data.columns", columns))
    (table,) = document["tables"]  # type: ignore[misc]
    assert table["values"] == [2, 1]
