"""Every extension is reached by a request, a verb, a page or a public name; what is not yet is listed, and the list may only shrink."""

import ast
from functools import cache
from pathlib import Path

import dalenius
from dalenius.core import registry
from dalenius.spec.noise import kinds_of_noise

ROOT = Path(dalenius.__file__).parent
# What users name themselves is found by the registry: these packages are where paths into the library begin.
ENTRANCES = ("cli", "server", "methods", "mechanisms", "definitions", "engines", "publish")
# Checks and demonstrations use everything, and prove nothing about use.
ASIDE = ("audit", "demo", "reproduce", "testing")
NOT_YET = {
    "measurements": {"keyed_list"},
    "statistics": {"contingency_table", "ratio", "variance"},
}


def name_of(path: Path) -> str:
    parts = ("dalenius", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in ROOT.rglob("*.py")}


@cache
def imports(module: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names & set(MODULES)


@cache
def reached() -> set[str]:
    """Modules that some entrance imports, directly or through others."""
    todo = [m for m in MODULES if m == "dalenius" or m.split(".")[1] in ENTRANCES]
    todo += [m for m in MODULES if m.startswith("dalenius.inference.questions.")]
    modules: set[str] = set()
    while todo:
        module = todo.pop()
        if module not in modules and module.split(".")[1:2] not in [[name] for name in ASIDE]:
            modules.add(module)
            todo += imports(module)
    return modules


def test_every_extension_is_reached_but_for_those_that_are_listed() -> None:
    unreached = {
        package: {
            name
            for name in registry.names(package)
            if f"dalenius.{package}.{name}" not in reached() and name not in kinds_of_noise()
        }
        for package in registry.PACKAGES
    }
    assert {package: names for package, names in unreached.items() if names} == NOT_YET


def test_a_module_that_nothing_imports_is_not_reached() -> None:
    assert "dalenius.testing.toy" not in reached()
    assert {"dalenius.statistics.count", "dalenius.measurements.noisy"} <= reached()
