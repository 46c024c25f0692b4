"""An underscore means private: no other package imports it; what others use is exported by the package or lies below."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.architecture.sources import MODULES, ROOT, nodes_of, tree_of

import dalenius_lab

LABORATORY = tuple(sorted(Path(str(dalenius_lab.__file__)).parent.rglob("*.py")))


def module_of(path: Path) -> str:
    """The dotted name of a file of the library or the laboratory."""
    top = ROOT if path.is_relative_to(ROOT) else Path(str(dalenius_lab.__file__)).parent
    parts = (top.name, *path.relative_to(top).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name: str) -> bool:
    """Whether a dotted name is a file or folder of the library."""
    place = ROOT.parent.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def private_imports(nodes: tuple[ast.AST, ...], package: str) -> Iterator[str]:
    """Private modules of the library that a module of `package` has no right to."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for parts in (name.split(".") for name in names if name.startswith("dalenius.")):
            for place, part in enumerate(parts):
                module, owner = ".".join(parts[: place + 1]), ".".join(parts[:place])
                if part.startswith("_") and not part.startswith("__") and owner != package and is_module(module):
                    yield module


def package_of(path: Path) -> str:
    module = module_of(path)
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def test_no_package_imports_a_private_module_of_another() -> None:
    for path in (*MODULES, *LABORATORY):
        foreign = list(private_imports(nodes_of(path), package_of(path)))
        assert not foreign, f"{module_of(path)} imports {foreign}"


@pytest.mark.parametrize(
    "text",
    [
        "from dalenius.engines._choice import open_source",
        "from dalenius.engines import _choice",
        "from dalenius.engines import _choice as choice",
        "import dalenius.engines._choice",
        "def later():\n    from dalenius.engines._choice import open_source",
    ],
)
@pytest.mark.parametrize("package", ["dalenius.curator", "dalenius", "dalenius.engines.inner", "dalenius_lab"])
def test_a_planted_import_is_seen(text: str, package: str) -> None:
    nodes = tuple(ast.walk(ast.parse(text)))
    assert list(private_imports(nodes, package)) == ["dalenius.engines._choice"]
    assert not list(private_imports(nodes, "dalenius.engines"))


def shadowed(names: set[str], own: set[str], bound: set[str]) -> set[str]:
    """Public names of a package that a module of the same name takes away as soon as somebody imports it."""
    return (names & own) - bound


def test_no_module_takes_away_a_name_that_its_package_exports() -> None:
    for path in (path for path in MODULES if path.name == "__init__.py"):
        own = {other.stem for other in path.parent.iterdir() if other.suffix == ".py" or other.is_dir()}
        names = {
            element.value
            for node in tree_of(path).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            for element in ast.walk(node.value)
            if isinstance(element, ast.Constant) and isinstance(element.value, str)
        }
        # What the package takes from the module of that name itself is bound after the module, and stays.
        bound = {
            alias.name
            for node in tree_of(path).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if node.module == f"{package_of(path)}.{alias.name}"
        }
        bound |= {"errors", "inference"} if path.parent == ROOT else set()  # modules by purpose
        assert not shadowed(names, own, bound), path


def test_a_planted_name_that_is_taken_away_is_seen() -> None:
    assert shadowed({"to_json", "load"}, {"to_json", "_files"}, set()) == {"to_json"}
    assert not shadowed({"combine"}, {"combine"}, {"combine"})
