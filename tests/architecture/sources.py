"""The modules of the library, read and parsed once for all tests of the tree."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import dalenius

ROOT = Path(dalenius.__file__).parent
REPOSITORY = Path(__file__).parents[2]
MODULES = tuple(sorted(ROOT.rglob("*.py")))


@cache
def text_of(path: Path) -> str:
    """The source of a module."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Its syntax tree."""
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of its tree."""
    return tuple(ast.walk(tree_of(path)))


def place_of(path: Path) -> str:
    """Where it stands in the library."""
    return path.relative_to(ROOT).as_posix()


def room_of(path: Path) -> str:
    """The package that it belongs to."""
    return path.relative_to(ROOT).parts[0]


def modules_of(*rooms: str) -> Iterator[Path]:
    """The modules of some packages."""
    return (path for path in MODULES if room_of(path) in rooms)


def imported(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    """Every module that some nodes import, and every name from one: `import a.b`, `from a import b`."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
