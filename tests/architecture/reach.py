"""Which definitions of a program are reached from its entrances: a graph of names, read from the sources.

A definition is a function or class at the top of a module. It is reached if an entrance names it, if the code of a module that is
imported on the way runs it, or if the body of a reached definition names it: by its own name in its module, by the name under
which it was imported, or as an attribute of its module. An import alone, a mention by a definition that nobody reaches, and an
attribute of the same name elsewhere reach nothing. Functions that a decorator hands to an object (`@router.get(…)`) are code of
their module.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

Name = tuple[str, str]
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Graph:
    """The definitions of modules, by their sources, and what each names."""

    def __init__(self, sources: Mapping[str, str], package: str) -> None:
        self._package = package
        self.trees = {module: ast.parse(text) for module, text in sources.items()}
        self._imported = {module: self._imports(tree) for module, tree in self.trees.items()}

    def with_source(self, module: str, text: str) -> "Graph":
        """The same with another source of one module."""
        other = Graph({}, self._package)
        other.trees = self.trees | {module: ast.parse(text)}
        other._imported = self._imported | {module: other._imports(other.trees[module])}
        return other

    @cached_property
    def definitions(self) -> dict[Name, ast.stmt]:
        """Every function and class at the top of a module."""
        return {
            (module, node.name): node
            for module, tree in self.trees.items()
            for node in tree.body
            if isinstance(node, _DEFINITIONS)
        }

    def _imports(self, tree: ast.AST) -> dict[str, set[Name]]:
        """What a module's names stand for; a whole module is (module, '')."""
        names: dict[str, set[Name]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and self._is_ours(node.module):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    target = (whole, "") if whole in self.trees else (str(node.module), alias.name)
                    names.setdefault(alias.asname or alias.name, set()).add(target)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in self.trees and alias.asname:
                        names.setdefault(alias.asname, set()).add((alias.name, ""))
        return names

    def _is_ours(self, module: str | None) -> bool:
        """Whether a module is of the program; a laboratory beside it has its name with an ending."""
        return (module or "").partition(".")[0].removesuffix("_lab") == self._package

    def named_by(self, module: str, node: ast.AST) -> Iterator[Name]:
        """What the code below a node names."""
        return self._named(node, module, self._imported[module])

    @staticmethod
    def _named(node: ast.AST, module: str, imported: Mapping[str, set[Name]]) -> Iterator[Name]:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                yield module, part.id
                yield from imported.get(part.id, ())
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                yield from ((m, part.attr) for m, n in imported.get(part.value.id, ()) if not n)

    def _run_by_import(self, module: str) -> Iterator[Name]:
        """What importing a module names, with the functions that it hands to others."""
        for node in self.trees[module].body:
            if isinstance(node, _DEFINITIONS):
                if any(_hands_over(decorator) for decorator in node.decorator_list):
                    yield module, node.name
            elif not isinstance(node, ast.Import | ast.ImportFrom):
                yield from self.named_by(module, node)

    def reached(self, entrances: Iterable[Name], *, without: Iterable[str] = ()) -> set[Name]:
        """Names reached from the entrances, of definitions and others; modules of the packages `without` lead nowhere."""
        closed = {f"{self._package}.{name}" for name in without}
        todo, names, modules = list(entrances), set[Name](), set[str]()
        while todo:
            name = todo.pop()
            module = name[0]
            if name in names or module not in self.trees or ".".join(module.split(".")[:2]) in closed:
                continue
            names.add(name)
            if module not in modules:
                modules.add(module)
                todo += self._run_by_import(module)
            if name in self.definitions:
                todo += self.named_by(module, self.definitions[name])
            else:
                todo += self._imported[module].get(name[1], ())
        return names


def _hands_over(decorator: ast.expr) -> bool:
    """Whether a decorator is a call of an object's method, as of a router or an application."""
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute)
