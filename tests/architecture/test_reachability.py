"""What is in the library is reached by a request, a verb or a public name, or it is gone.

The graph of names (`reach.py`) begins where people begin: at the command line (and through it at the server), at extensions that
documents name, and at public names. A definition that only a page or a test names is not reached. What no path reaches is listed
with a reason; the list has at most five entries and may only shrink.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from tests.architecture.reach import Graph, Name
from tests.docs.test_pages import PAGES

import dalenius
import dalenius_lab
from dalenius import inference
from dalenius.core import registry
from dalenius.spec.noise import kinds_of_noise

ROOT = Path(dalenius.__file__).parent
LABORATORY = Path(str(dalenius_lab.__file__)).parent
# Extensions that documents, options and endings of files name; the others must be used by one of these.
NAMED = (
    "estimators",
    "modifiers",
    "mechanisms",
    "definitions",
    "engines",
    "methods",
    "modifiers",
    "estimators",
    "plans.counts",
    "plans.margins.strategies",
    "publish",
    "inference.questions",
)
# Checks and demonstrations use everything, and prove nothing about use.
ASIDE = ("demo", "testing")
# Arithmetic that only the papers' numbers need is reached by `dalenius reproduce`, a verb of the laboratory.
ARITHMETIC = ("core", "exact", "algebra")
NOT_REACHED = {
    "core.registry.forget": "for kits that add extensions while a program runs, so that planted faults are found",
    "algebra.dual.exp": "arithmetic of dual numbers for estimators of other distributions",
    "algebra.dual.log": "arithmetic of dual numbers for estimators of other distributions",
}


def name_of(path: Path, root: Path) -> str:
    parts = (root.name, *path.relative_to(root).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


@cache
def graph() -> Graph:
    roots = (ROOT, LABORATORY)
    return Graph({name_of(path, root): path.read_text() for root in roots for path in root.rglob("*.py")}, "dalenius")


def _extension(package: str, name: str) -> Name:
    module = f"dalenius.{package}.{name}"
    return module, registry.public_name(import_module(module))


def entrances() -> Iterator[Name]:
    yield "dalenius.cli.main", "run"
    for package in NAMED:
        for name in registry.names(package):
            yield _extension(package, name)
    # What `core` shows by asking the registry: `view("release", …)`.
    for kind in set(re.findall(r'\bview\("(\w+)"', "".join(path.read_text() for path in ROOT.rglob("*.py")))):
        yield _extension("shown", kind)
    for name in set(kinds_of_noise()) & set(registry.names("measurements")):
        yield _extension("measurements", name)
    for name in set(dalenius.__all__) - {"inference", "errors", "__version__"}:
        yield getattr(dalenius, name).__module__, getattr(dalenius, name).__name__
    yield from (("dalenius.inference", name) for name in inference.__all__)
    yield from (name for name in graph().definitions if name[0] == "dalenius.errors")


def reproductions() -> Iterator[Name]:
    from dalenius_lab.reproductions import items

    for item in (*items.items().values(), *items.plots().values()):
        yield item.__module__, item.__qualname__.partition(".")[0]


@cache
def reached() -> frozenset[Name]:
    return frozenset(graph().reached(entrances(), without=ASIDE))


@cache
def unreached() -> frozenset[str]:
    by_items = reached() | graph().reached(reproductions(), without=("demo", "testing"))
    return frozenset(
        f"{module}.{name}".removeprefix("dalenius.")
        for module, name in graph().definitions
        if module.partition(".")[0] == "dalenius"
        and (layer := module.partition(".")[2].partition(".")[0]) not in (*ASIDE, "audit")
        and not name.startswith("__")
        and (module, name) not in (by_items if layer in ARITHMETIC else reached())
    )


def test_every_definition_is_reached_or_listed() -> None:
    assert unreached() == NOT_REACHED.keys()
    assert len(NOT_REACHED) <= 5 and all(len(reason) > 20 for reason in NOT_REACHED.values())


def test_every_extension_is_reached() -> None:
    for package in (*registry.PACKAGES, *registry.CLOSED):
        for name in registry.names(package):
            assert _extension(package, name) in reached(), f"{package}.{name}"


@pytest.mark.parametrize(
    ("planted", "is_seen"),
    [
        ("def lonely():\n    return 1\n", True),
        ("def lonely():\n    return lonely()\n", True),
        ("def dead():\n    return lonely()\n\ndef lonely():\n    return dead()\n", True),
        ("class lonely:\n    def run(self):\n        return lonely\n", True),
        ("@cache\ndef lonely():\n    return 1\n", True),
        # Used while the module is imported, or handed to an object: reached.
        ("def lonely():\n    return 1\n\nTABLE = lonely()\n", False),
        ("@router.get('/x')\ndef lonely():\n    return 1\n", False),
    ],
)
def test_a_planted_function_that_nothing_reaches_is_seen(planted: str, is_seen: bool) -> None:
    used = "from program import tools\n\ndef run():\n    return tools.used(), tools.lonely_too, Thing().lonely\n"
    # A name in prose, an import alone and a method of the same name reach nothing.
    tools = f'"""About lonely."""\n\nfrom program.other import lonely as it\n\ndef used():\n    return "lonely"\n\n{planted}'
    sources = {"program": "", "program.main": used, "program.tools": tools, "program.other": planted}
    program = Graph(sources, "program")
    found = program.reached([("program.main", "run")])
    assert (("program.tools", "lonely") not in found) is is_seen
    assert ("program.other", "lonely") not in found
    assert ("program.tools", "used") in found


def test_a_function_planted_into_the_library_is_seen() -> None:
    """The same name is used elsewhere, stands on pages and is imported by the tests: none of it helps."""
    module = "dalenius.postprocess.rounding"
    text = (ROOT / "postprocess" / "rounding.py").read_text()
    planted = graph().with_source(module, text + "\n\ndef intervals(release):\n    return intervals\n")
    found = planted.reached(entrances(), without=ASIDE)
    assert (module, "intervals") not in found
    assert ("dalenius.inference.cells", "intervals") in found


def test_names_of_the_library_on_pages_exist() -> None:
    """`dalenius.package.module.name` on a page is a name that can be imported."""
    gone = []
    for page in PAGES:
        for dotted in re.findall(r"`(dalenius(?:\.\w+)+)", page.read_text(encoding="utf-8")):
            if not _exists(dotted) and not dotted.endswith((".sqlite", ".toml")):
                gone.append(f"{page.name}: {dotted}")
    assert not gone


def _exists(dotted: str) -> bool:
    module, _, name = dotted.rpartition(".")
    if dotted in graph().trees or (module, name) in graph().definitions:
        return True
    while module:
        try:
            thing: object = import_module(module)
        except ImportError:
            module = module.rpartition(".")[0]
            continue
        for part in dotted.removeprefix(f"{module}.").split("."):
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False
