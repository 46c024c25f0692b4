"""Rooms, inheritance and names: what keeps the tree readable, held by a machine."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.architecture.sources import MODULES, REPOSITORY, ROOT, nodes_of, text_of

# Bases that describe or are described, and so add no step to a staircase.
DESCRIPTIVE = {"Protocol", "Generic", "ABC", "NamedTuple", "StrEnum", "Enum", "BaseModel", "Exception", "UserWarning"}

# Local variables named after what happened to them, not after what they hold. The numbers may only fall.
PARTICIPLES = {"found": 9, "known": 4, "seen": 1, "given": 30, "kept": 58}


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for path in MODULES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                yield path, node


def bases_of(node: ast.ClassDef) -> list[str]:
    """Names of the bases, without modules and parameters."""
    heads = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [ast.unparse(head).rpartition(".")[2] for head in heads]


def depth(name: str, bases: dict[str, list[str]], *, path: tuple[str, ...] = ()) -> int:
    """Steps from a class to the last of our own classes that it inherits from; models and exceptions count none."""
    ours = [base for base in bases.get(name, []) if base in bases and base not in path]
    return max((1 + depth(base, bases, path=(*path, name)) for base in ours), default=0)


def is_descriptive(name: str, bases: dict[str, list[str]]) -> bool:
    return any(base in DESCRIPTIVE or is_descriptive(base, bases) for base in bases.get(name, []))


def test_nouns_are_held_and_no_staircase_of_inheritance_is_built() -> None:
    bases = {node.name: bases_of(node) for _, node in classes()}
    for name in bases:
        if not is_descriptive(name, bases):
            assert depth(name, bases) <= 1, f"{name} inherits through more than one class"


def test_a_planted_staircase_is_seen() -> None:
    bases = {"LedgerReader": [], "Declarations": ["LedgerReader"], "Ledger": ["Declarations"]}
    assert depth("Ledger", bases) == 2 and not is_descriptive("Ledger", bases)
    assert is_descriptive("Part", {"Part": ["BaseModel"]})


@pytest.mark.parametrize(("room", "most"), [("curator", 10), ("core", 23)])
def test_rooms_stay_small(room: str, most: int) -> None:
    assert len([path for path in (ROOT / room).rglob("*.py") if path.name != "__init__.py"]) <= most


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[Path]] = {}
    for path, node in classes():
        places.setdefault(node.name, []).append(path.relative_to(ROOT))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def documents(path: Path) -> Iterator[str]:
    """Docstrings and comments, and texts that name a document, such as references of evidence."""
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    yield from (line.partition("#")[2] for line in text_of(path).splitlines() if "#" in line)


CITED = re.compile(r"(?<![\w{}*<./-])((?:[\w-]+/)*[\w-]+\.md)\b|\b((?:docs|tests|src)/[\w/-]+\.(?:py|md))\b")


def test_docstrings_cite_nothing_outside_the_repository() -> None:
    for path in (p for p in MODULES if ".md" in text_of(p) or ".py" in text_of(p)):
        for text in documents(path):
            for match in CITED.finditer(text):
                name = match.group(1) or match.group(2)
                assert (REPOSITORY / name).is_file(), f"{path} cites {name}, which is not in the repository"


def stored_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_fewer_and_fewer_variables_are_named_after_what_happened_to_them() -> None:
    counts = Counter(name for path in MODULES for name in stored_names(nodes_of(path)))
    for name, most in PARTICIPLES.items():
        assert counts[name] <= most, f"{counts[name]} variables are called {name!r}; name one after what it holds"
