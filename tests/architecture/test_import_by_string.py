"""Modules are imported by statements, which linters, types and readers follow; by a string only where extensions are found."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.architecture.sources import MODULES, ROOT, nodes_of

import dalenius_lab

LABORATORY = Path(str(dalenius_lab.__file__)).parent
ALLOWED = {
    ROOT / "core/registry.py": "finds extensions by the names of their files",
    ROOT / "measurements/blocks/_child.py": "runs a custodian's function in an interpreter of its own, which needs the "
    "modules that the function's source names before every door is shut",
    LABORATORY / "demonstration.py": "the laboratory's registry of demonstrations",
    LABORATORY / "reproductions/items.py": "the laboratory's registry of reproductions",
}
# What reads files and facts of a distribution, and runs no module by its name.
HARMLESS = ("importlib.resources", "importlib.metadata")
BY_STRING = {"__import__", "import_module", "run_module", "resolve_name", "exec_module", "find_spec"}


def imports_by_string(nodes: tuple[ast.AST, ...]) -> Iterator[int]:
    """Lines that import a module whose name is a value, or take the tool for it."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in BY_STRING:
                yield node.lineno
            continue
        else:
            continue
        if any(name.partition(".")[0] == "importlib" and not name.startswith(HARMLESS) for name in names):
            yield node.lineno


def test_modules_are_imported_by_string_only_where_extensions_are_found() -> None:
    for path in (*MODULES, *LABORATORY.rglob("*.py")):
        lines = sorted(set(imports_by_string(nodes_of(path))))
        assert not lines or path in ALLOWED, f"{path}: lines {lines}"


def test_what_is_allowed_is_needed() -> None:
    for path, reason in ALLOWED.items():
        assert list(imports_by_string(nodes_of(path))), path
        assert len(reason) > 20


@pytest.mark.parametrize(
    "text",
    [
        "import importlib",
        "from importlib import import_module",
        "import importlib.util",
        "runpy.run_module('dalenius.engines.duckdb')",
        "__import__('dalenius.engines.duckdb')",
        "pkgutil.resolve_name('dalenius.engines:duckdb')",
        "def later(name):\n    from importlib import import_module as load\n    return load(name)",
    ],
)
def test_a_planted_import_by_string_is_seen(text: str) -> None:
    assert list(imports_by_string(tuple(ast.walk(ast.parse(text)))))


@pytest.mark.parametrize(
    "text", ["from importlib.resources import files", "from importlib.metadata import entry_points", "import json"]
)
def test_what_reads_files_of_a_distribution_is_none(text: str) -> None:
    assert not list(imports_by_string(tuple(ast.walk(ast.parse(text)))))
