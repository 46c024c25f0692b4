"""Who looks for the largest or smallest number that fits asks `core/search.py`: nobody halves a bracket by hand."""

import ast
from collections.abc import Iterable, Iterator

import pytest
from tests.architecture.sources import MODULES, nodes_of, place_of

HOME = "core/search.py"
HALVES = {(ast.Div, "2"), (ast.FloorDiv, "2"), (ast.RShift, "1"), (ast.Pow, "0.5")}
# `_near` steps by a secant and halves where that leaves the bracket; `_solve` is Newton's method with that guard.
GUARDS = {"exact/resampling_price.py": {"_near"}, "inference/likelihood.py": {"_solve"}}


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def halved(node: ast.AST) -> Iterator[set[str]]:
    """The names of every sum or product of two ends that is halved, shifted or put under a root."""
    for part in ast.walk(node):
        if (
            isinstance(part, ast.BinOp)
            and isinstance(part.left, ast.BinOp)
            and isinstance(part.left.op, ast.Add | ast.Mult)
            and (type(part.op), ast.unparse(part.right)) in HALVES
        ):
            yield names_in(part.left)


def bisections(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Functions with a loop that names the middle of two ends and then moves one of the ends."""
    for function in nodes:
        if not isinstance(function, ast.FunctionDef):
            continue
        for loop in ast.walk(function):
            if isinstance(loop, ast.For | ast.While) and _is_bisection(loop):
                yield function.name
                break


def _is_bisection(loop: ast.For | ast.While) -> bool:
    assigned = [
        (names_in(target), node.value)
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign)
        for target in node.targets
    ]
    moved = {(end, used) for targets, value in assigned for end in targets for used in names_in(value)}
    return any(
        (end, middle) in moved
        for targets, value in assigned
        for ends in halved(value)
        if len(ends) >= 2
        for middle in targets
        for end in ends - targets
    )


def test_nobody_halves_a_bracket_by_hand() -> None:
    for path in MODULES:
        by_hand = set(bisections(nodes_of(path))) - GUARDS.get(place_of(path), set())
        assert place_of(path) == HOME or not by_hand, f"{place_of(path)}: {by_hand} should ask {HOME}"


def test_the_guards_are_still_there() -> None:
    for path in MODULES:
        guards = GUARDS.get(place_of(path), set())
        assert guards <= set(bisections(nodes_of(path))), place_of(path)


@pytest.mark.parametrize(
    "text",
    [
        "while high - low > 1:\n  middle = (low + high) // 2\n  low, high = (low, middle) if f(middle) else (middle, high)",
        "for _ in range(9):\n  m = (a + b) / 2\n  if f(m):\n   a = m\n  else:\n   b = m",
        "while b - a > 1:\n  m = (a + b) >> 1\n  a = m if f(m) else a",
        "for _ in range(9):\n  m = (a * b) ** 0.5\n  a, b = (a, m) if f(m) else (m, b)",
    ],
)
def test_a_planted_bisection_is_seen(text: str) -> None:
    code = "def search(a, b):\n " + text.replace("\n", "\n ")
    assert list(bisections(ast.walk(ast.parse(code)))) == ["search"]


def test_a_mean_in_a_loop_is_none() -> None:
    code = "def means(pairs):\n for a, b in pairs:\n  middle = (a + b) / 2\n  out = f(middle)"
    assert not list(bisections(ast.walk(ast.parse(code))))
