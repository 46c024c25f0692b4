"""Sum and squares of what blocks say as one answer: what it moves, and its exact loss over all partitions of tiny data."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from tests.measurements.test_silent_blocks import coupled, domain_of

from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.measurements.block_totals import SUM, BlockTotals
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics import Parabola

Rows = list[tuple[int, int]]


def step_of(width: int, *, is_pure: bool, rate: Fraction = Fraction(1)) -> BlockTotals:
    basis = Parabola.of(0, width, is_pure=is_pure)
    blocks = Blocks(
        model="gaussian_mean", count=2, lower=Fraction(0), upper=Fraction(4), width=width, correction="none"
    )
    return BlockTotals(
        name="sum and squares",
        query=ValuesQuery(value="x"),
        blocks=blocks,
        mechanism=DiscreteLaplace(rate),
        multiples=(basis.first, basis.second),
    )


def answer(step: BlockTotals, rows: Rows) -> list[int]:
    values, places = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
    told: list[int] = step.exact(step.blocks.reports(values, places)).tolist()
    return told


@pytest.mark.parametrize("is_pure", [True, False])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("rows", "width"), [(1, 4), (1, 5), (2, 4), (2, 3)])
def test_sum_and_squares_move_as_far_as_the_sum_alone(relation: Relation, rows: int, width: int, is_pure: bool) -> None:
    """All neighbours and partitions of tiny data; in the norm of its noise the squares cost nothing on even grids."""
    step, neighbours = step_of(width, is_pure=is_pure), domain_of(relation, rows).neighbours
    stated = step.sensitivity(width, step.multiples, neighbours)
    moves = [np.abs(np.subtract(answer(step, here), answer(step, there))) for here, there in coupled(relation, rows)]
    # A row that is added to an empty block takes it from the middle to one end.
    least = 0.8 if relation is Relation.REPLACE and not width % 2 else 0.3
    assert least * stated.l1 < max(move.sum() for move in moves) <= stated.l1
    assert max((move**2).sum() for move in moves) <= stated.l2_squared
    alone = step.multiples[0] * step.sensitivity(width, SUM, neighbours).l1
    if not width % 2:
        assert alone == stated.l1 if is_pure else alone**2 == stated.l2_squared


def losses(step: BlockTotals, relation: Relation, rows: int) -> Iterator[float]:
    """The largest log ratio of the laws of both answers together, over a grid that holds all centres and beyond.

    Each law is a mixture over all partitions of two independent two-sided geometric draws around its centres; between
    neighbouring centres the ratio of such mixtures has no larger values than at them.
    """
    rate = float(Fraction(step.mechanism.parameters["rate"]))
    pairs: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for here, there in coupled(relation, rows):
        first, second = (tuple(sorted(value for value, _ in data)) for data in (here, there))
        pairs[first, second] = None

    def centres(values: tuple[int, ...]) -> list[list[int]]:
        return [
            answer(step, list(zip(values, places, strict=True))) for places in product(range(2), repeat=len(values))
        ]

    for first, second in pairs:
        laws = [centres(values) for values in (first, second)]
        every = np.array([*laws[0], *laws[1]])
        axes = [sorted({*every[:, k], every[:, k].min() - 1, every[:, k].max() + 1}) for k in (0, 1)]

        def chance(at: tuple[int, ...], of: list[list[int]]) -> float:
            return sum(exp(-rate * sum(abs(a - c) for a, c in zip(at, centre, strict=True))) for centre in of) / len(of)

        yield max(abs(log(chance(at, laws[0]) / chance(at, laws[1]))) for at in product(*axes))


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
def test_no_neighbours_lose_more_than_is_stated(relation: Relation, rows: int) -> None:
    step, neighbours = step_of(4, is_pure=True, rate=Fraction(1, 10)), domain_of(relation, rows).neighbours
    stated = step.profile(neighbours).epsilon
    assert stated is not None
    worst = max(losses(step, relation, rows))
    # That a record might be elsewhere hides a little.
    assert 0.3 * float(stated) < worst <= float(stated) + 1e-9


def test_squares_that_are_forgotten_in_the_price_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve on which the squares weigh more than is free loses more than the sum alone pays for."""

    def of_the_sum(self: Parabola, neighbours: Neighbours, cells: int, arrays: int) -> Sensitivity:
        return Sensitivity.of_patterns(((neighbours.max_rows * self.first * (self.high - self.low),),))

    step = step_of(4, is_pure=True, rate=Fraction(1, 10))
    heavier = BlockTotals(
        name=step.name,
        query=step.query,
        blocks=step.blocks,
        mechanism=step.mechanism,
        multiples=(step.multiples[0], 4 * step.multiples[1]),
    )
    right = heavier.profile(domain_of(Relation.REPLACE, 1).neighbours).epsilon
    monkeypatch.setattr(Parabola, "sensitivity", of_the_sum)
    wrong = heavier.profile(domain_of(Relation.REPLACE, 1).neighbours).epsilon
    assert right is not None and wrong is not None and wrong < right
    assert float(wrong) < max(losses(heavier, Relation.REPLACE, 1)) <= float(right) + 1e-9
