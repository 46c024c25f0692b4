"""How far halved sums move: every pair of small sums, and every pair of neighbours among tiny data sets."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from dalenius.audit.sensitivity import columns_of, covers
from dalenius.core.domain import Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.engines.memory import MemorySource
from dalenius.statistics import Simplex
from dalenius.statistics._example import cells, group, number
from dalenius.statistics._moves import bounded_sum
from dalenius.testing.statistic_kit import ALL_NEIGHBOURS, small_pairs

Moves = set[tuple[int, ...]]


def test_no_halving_changes_nothing() -> None:
    some = Sensitivity.norms(l0=2, l1=5, l2_squared=Fraction(17, 2), linf=4)
    assert some.halved(0) is some


@pytest.mark.parametrize("halvings", [1, 2, 3])
def test_norms_hold_for_every_pair_of_small_sums(halvings: int) -> None:
    """Vectors of two coordinates with moves up to 9, from every start: floors move within what their norms say."""
    c = 2**halvings
    for first, second in product(range(10), repeat=2):
        stated = Sensitivity.norms(
            l0=(first > 0) + (second > 0), l1=first + second, l2_squared=first**2 + second**2, linf=max(first, second)
        ).halved(halvings)
        furthest = [max((start + move) // c - start // c for start in range(c)) for move in (first, second)]
        assert covers(stated, Sensitivity.of_patterns((tuple(furthest),)))
        assert stated.l1 <= (first + second) // c + 2


def test_one_coordinate_is_rounded_up_exactly() -> None:
    for move in range(1, 40):
        by_norms = Sensitivity.norms(l0=1, l1=move, l2_squared=move**2, linf=move).halved(2)
        by_patterns = Sensitivity.of_patterns(((move,),)).halved(2)
        assert by_norms.l1 == by_norms.linf == by_patterns.l1 == -(-move // 4)
        assert by_patterns.l2_squared <= by_norms.l2_squared <= by_patterns.l2_squared + 2 * by_patterns.l1 + 1


# What is summed, in two cells or one, and how far the exact sums move; a row in a cell may go to the other one.
SUMS = {
    "totals of both signs in two cells": (cells("a", "b"), (Power("x"),), (-3, 5)),
    "totals in one cell": (cells("a"), (Power("x"),), (-3, 5)),
    "squares in two cells": (cells("a", "b"), (Power("x", exponent=2, offset=-1),), (0, 16)),
    "mirrored totals in two cells": (cells("a", "b"), (Power("x", offset=3), Power("x", slope=-1, offset=5)), None),
}
VALUES = (-3, 0, 4, 5, None)


def stated(name: str, neighbours: Neighbours) -> Sensitivity:
    space, _, ends = SUMS[name]
    if ends is None:
        return Simplex(total=8).sensitivity(neighbours, space.size, 2)
    return bounded_sum(neighbours, cells=space.size, low=ends[0], high=ends[1])


@cache
def moves(name: str, neighbours: Neighbours, halvings: int) -> Moves:
    """How the released numbers of all tiny data sets differ from those of their neighbours."""
    space, powers, _ = SUMS[name]
    labels = space.axes[0].labels
    variables: dict[str, Variable] = group(*labels) | number(-3, 5)
    has_persons = neighbours.unit == "person"
    domain = Domain(
        name="d",
        population="d",
        version="1",
        variables=variables,
        neighbours=neighbours,
        unit_id="person" if has_persons else None,
    )
    queries = [TableQuery(space=space, function=RowFunction.of(power), halvings=halvings) for power in powers]
    answers: dict[object, list[int]] = {}

    def answer(data: tuple[tuple[tuple[object, ...], ...], ...]) -> list[int]:
        if data not in answers:
            source = MemorySource(domain, columns_of(data, list(variables), domain.unit_id), b"a secret")
            answers[data] = [int(v) for q in queries for v in source.table(q).open_below_the_gate()]
        return answers[data]

    kinds = list(product(labels, VALUES))[:: 1 if len(labels) == 1 else 2]
    pairs = small_pairs(kinds, neighbours)
    return {tuple(sorted((abs(a - b) for a, b in zip(answer(here), answer(there), strict=True) if a != b), reverse=True)) for here, there in pairs}  # fmt: skip


EVERY = list(product(SUMS, ALL_NEIGHBOURS, (1, 2)))


@pytest.mark.parametrize(("name", "neighbours", "halvings"), EVERY)
def test_halved_sums_of_neighbours_move_within_what_is_stated(name: str, neighbours: Neighbours, halvings: int) -> None:
    halved = stated(name, neighbours).halved(halvings)
    measured = moves(name, neighbours, halvings)
    assert covers(halved, Sensitivity.of_patterns(tuple(measured)))
    if halved.patterns is not None:
        for move in measured:
            assert any(
                len(pattern) >= len(move) and all(p >= m for p, m in zip(pattern, move, strict=False))
                for pattern in halved.patterns
            )


def test_halving_that_forgets_the_coordinates_is_found() -> None:
    """Planted: norms divided and rounded up as a whole, as if one coordinate moved."""
    found = []
    for name, neighbours, halvings in EVERY:
        exact, c = replace(stated(name, neighbours), patterns=None), 2**halvings
        wrong = replace(exact.halved(halvings), l1=Fraction(-(-exact.l1 // c)))
        found.append(not covers(wrong, Sensitivity.of_patterns(tuple(moves(name, neighbours, halvings)))))
    assert sum(found) >= len(found) // 4
