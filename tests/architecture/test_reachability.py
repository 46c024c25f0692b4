"""Every extension, and every public function beside one, is reached by a request, a verb, a page or a public name.

What is not yet is listed with a reason; the list has at most five entries and may only shrink.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import dalenius
from dalenius.core import registry
from dalenius.spec.noise import kinds_of_noise

ROOT = Path(dalenius.__file__).parent
DOCS = ROOT.parents[1] / "docs"
# What users name themselves is found by the registry: these packages are where paths into the library begin.
ENTRANCES = ("cli", "server", "methods", "mechanisms", "definitions", "engines", "publish")
# Checks and demonstrations use everything, and prove nothing about use.
ASIDE = ("audit", "demo", "reproduce", "testing")
# Layers whose modules hold what a person might ask for.
ASKED = (
    "inference",
    "postprocess",
    "statistics",
    "measurements",
    "mechanisms",
    "methods",
    "publish",
    "lists",
)
NOT_YET: dict[str, str] = {}


def name_of(path: Path) -> str:
    parts = ("dalenius", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in ROOT.rglob("*.py")}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


@cache
def imports(module: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names & set(MODULES)


@cache
def reached() -> set[str]:
    """Modules that some entrance imports, directly or through others, or that a request names as its noise."""
    todo = [m for m in MODULES if m == "dalenius" or m.split(".")[1] in ENTRANCES]
    todo += [m for m in MODULES if m.startswith("dalenius.inference.questions.")]
    todo += [m for name in kinds_of_noise() if (m := f"dalenius.measurements.{name}") in MODULES]
    modules: set[str] = set()
    while todo:
        module = todo.pop()
        if module not in modules and module.split(".")[1:2] not in [[name] for name in ASIDE]:
            modules.add(module)
            todo += imports(module)
    return modules


def test_every_extension_is_reached_but_for_those_that_are_listed() -> None:
    unreached = {
        f"{package}.{name}"
        for package in registry.PACKAGES
        for name in registry.names(package)
        if f"dalenius.{package}.{name}" not in reached()
    }
    assert unreached == {name for name in NOT_YET if name.rpartition(".")[0] in registry.PACKAGES}
    assert len(NOT_YET) <= 5 and all(len(reason) > 20 for reason in NOT_YET.values())


@cache
def used_names() -> frozenset[str]:
    """Every name that some module reads, imports or takes as an attribute."""
    names: set[str] = set()
    for module in MODULES:
        if module.split(".")[1:2] == ["testing"]:
            continue
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.ImportFrom):
                names |= {alias.name for alias in node.names}
    return frozenset(names)


def public_functions(module: str) -> Iterator[str]:
    """Functions and classes at the top of a module, without those of its own use."""
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


@cache
def pages() -> str:
    return "\n".join(path.read_text() for path in (*DOCS.rglob("*.md"), ROOT.parents[1] / "README.md"))


def test_every_public_function_is_used_by_the_library_or_stands_in_a_page() -> None:
    unused = [
        f"{module}.{name}"
        for module in MODULES
        if module.split(".")[1:2] and module.split(".")[1] in ASKED
        for name in public_functions(module)
        if name not in used_names()
        and name not in pages()
        and name not in dir(dalenius)
        # The registry reaches what a module names first.
        and not module.rpartition(".")[2].startswith("test")
        and name != _first(module)
    ]
    assert {name.removeprefix("dalenius.") for name in unused} <= set(NOT_YET)


def _first(module: str) -> str:
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            return str(names[0]) if names else ""
    return ""


def test_a_module_that_nothing_imports_is_not_reached() -> None:
    assert "dalenius.testing.toy" not in reached()
    assert {"dalenius.statistics.count", "dalenius.measurements.noisy"} <= reached()


def test_a_function_that_nobody_uses_would_be_seen() -> None:
    assert "a_function_that_nobody_wrote" not in used_names()
    assert "plan_of" not in {name for module in MODULES for name in public_functions(module)} - {"plan_of"}
