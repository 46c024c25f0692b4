"""The graph of modules has no cycle, imports inside functions and for types counted."""

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import pytest
from tests.architecture.sources import MODULES, ROOT, nodes_of


def graph() -> dict[str, set[str]]:
    paths = {
        ".".join(("dalenius", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in MODULES
    }
    return {name: imported(nodes_of(path), paths) - {name} for name, path in paths.items()}


def imported(nodes: tuple[ast.AST, ...], modules: Mapping[str, object]) -> set[str]:
    """The modules among these that code imports; a name from a module is that module."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            wholes = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= wholes & modules.keys() or {node.module}
    return found & modules.keys()


def test_no_module_imports_itself_by_way_of_others() -> None:
    TopologicalSorter(graph()).prepare()


def test_a_cycle_inside_a_function_is_seen() -> None:
    text = "def later():\n    from dalenius.core.release import Release\n\n    return Release\n"
    planted = graph()
    planted["dalenius.core.law"] |= imported(tuple(ast.walk(ast.parse(text))), planted)
    with pytest.raises(CycleError):
        TopologicalSorter(planted).prepare()
