"""A class states its public attributes where a reader looks for them: in its body, or as annotated parameters.

An attribute counts as stated if the class body defines, annotates or assigns it, if a method annotates it (`self.x: T = …`), or if a
method takes it over from an annotated parameter (`self.x = x`). Attributes that a method makes of something else, such as methods copied
from another object, are at most a tenth. Classes that are private to their module are left out.
"""

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.sources import MODULES, nodes_of, place_of

LEAST = 0.9
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def in_body(node: ast.ClassDef) -> Iterator[str]:
    """Names that the body of a class defines, annotates or assigns."""
    for part in node.body:
        if isinstance(part, (*_FUNCTIONS, ast.ClassDef)):
            yield part.name
        elif isinstance(part, ast.AnnAssign):
            yield ast.unparse(part.target)
        elif isinstance(part, ast.Assign):
            yield from (name.id for target in part.targets for name in ast.walk(target) if isinstance(name, ast.Name))


def assigned(method: ast.AST) -> Iterator[tuple[str, bool]]:
    """Attributes that a method gives to its object, and whether each is annotated or an annotated parameter."""
    assert isinstance(method, _FUNCTIONS)
    given = method.args
    if not given.args:
        return
    annotated = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.annotation is not None}
    for node in ast.walk(method):
        if isinstance(node, ast.AnnAssign):
            pairs: list[tuple[ast.expr, ast.expr | None]] = [(node.target, None)]
        elif isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
        else:
            continue
        for target, value in pairs:
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) == given.args[0].arg:
                yield target.attr, value is None or (isinstance(value, ast.Name) and value.id in annotated)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr | None]]:
    """Single targets with their values: `a, b = x, y` are two."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
    return [pair for one, part in zip(target.elts, values, strict=False) for pair in _pairs(one, part)]


def split(node: ast.ClassDef) -> tuple[set[str], set[str]]:
    """Public attributes of a class: those it states, and those that only a method makes."""
    stated = set(in_body(node))
    made = [pair for part in node.body if isinstance(part, _FUNCTIONS) for pair in assigned(part)]
    stated |= {name for name, is_stated in made if is_stated}
    public = {name for name in stated if not name.startswith("_")}
    return public, {name for name, _ in made if not name.startswith("_")} - public


def judged(node: ast.ClassDef) -> set[str]:
    """Attributes that a class does not state, if they are too many."""
    stated, made = split(node)
    return made if made and len(stated) < LEAST * (len(stated) + len(made)) else set()


def test_classes_state_their_public_attributes() -> None:
    found = {
        f"{place_of(path)}: {node.name}": sorted(judged(node))
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and judged(node)
    }
    assert not found


COPIES = "; ".join(f"self.m{n} = other.m{n}" for n in range(3))


@pytest.mark.parametrize(
    ("planted", "is_seen"),
    [
        (f"class A:\n    def __init__(self, other: B) -> None:\n        {COPIES}", True),
        ("class A:\n    def __init__(self, other: B) -> None:\n        self.a, self.b = other.a, other.b", True),
        ("class A:\n    def __init__(self, other) -> None:\n        self.other = other", True),
        ("class A:\n    def __init__(self, other: B) -> None:\n        self.other = other", False),
        ("class A:\n    a: int\n    def __init__(self) -> None:\n        self.a = 1", False),
        ("class A:\n    def __init__(self) -> None:\n        self.a: int = len('a')", False),
        ("class A:\n    def __init__(self, other: B) -> None:\n        self._find = other.find", False),
        # One of ten may be made.
        ("class A:\n" + "".join(f"    a{n}: int\n" for n in range(9)) + "    def f(self):\n        self.b = 1", False),
        ("class A:\n" + "".join(f"    a{n}: int\n" for n in range(7)) + "    def f(self):\n        self.b = 1", True),
    ],
)
def test_planted_attributes_are_seen(planted: str, is_seen: bool) -> None:
    (node,) = ast.parse(planted).body
    assert isinstance(node, ast.ClassDef)
    assert bool(judged(node)) is is_seen
