"""Points at and beside quantiles: exact loss over all neighbours of tiny data, planted errors, and every content answered."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import log

import numpy as np
import pytest
from tests.measurements.derived_laws import quantile_lists, stated

from dalenius.algebra.points import Precision, points_of
from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError
from dalenius.exact import several_quantiles
from dalenius.measurements.quantile_points import QuantilePoints

LOW, HIGH = 0, 2
HALF, QUARTER = (Fraction(1, 2),), (Fraction(1, 4),)
OUTER = (Fraction(1, 4), Fraction(3, 4))


def made(
    relation: Relation, q: tuple[Fraction, ...] = HALF, size: int = 3, rows: int = 1, fineness: int | None = None
) -> QuantilePoints:
    return QuantilePoints(
        name="points",
        space=CellSpace(()),
        queries=(ValuesQuery(value="x"),),
        low=LOW,
        high=HIGH,
        epsilon=Fraction(3, 2),
        beside=Fraction(3, 2),
        neighbours=Neighbours(relation=relation, unit="row" if rows == 1 else "person", max_rows=rows),
        q=q,
        sizes=(size,),
        precision=Precision(count=0.2, size=0.0, has_sampling=True),
        fineness=fineness,
    )


def worst(step: QuantilePoints, most: int = 3) -> float:
    """Largest log ratio of the answers to two neighbours: one unit with up to as many rows as it may have."""
    rows = step.neighbours.max_rows

    def law(data: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        values = np.array(data, dtype=np.int64)
        steps, how = step.steps(0), {"score": step.score, "is_open": step.is_open}
        return quantile_lists(values, LOW, HIGH, steps, step.epsilons, rows, **how)  # type: ignore[arg-type]

    laws = {data: law(data) for n in range(most + 1) for data in combinations_with_replacement(range(LOW, HIGH + 1), n)}
    own = [each for n in range(rows + 1) for each in combinations_with_replacement(range(LOW, HIGH + 1), n)]
    largest = 0.0
    for rest in laws:
        near = [data for unit in own if (data := tuple(sorted((*rest, *unit)))) in laws]
        near = near if step.neighbours.is_replace else [rest, *near]
        pairs = [(a, b) for a in near for b in near] if step.neighbours.is_replace else [(rest, b) for b in near]
        for a, b in pairs:
            here, there = laws[a], laws[b]
            assert here.keys() == there.keys()
            largest = max(largest, *(abs(log(p / there[answer])) for answer, p in here.items()))
    return largest


@pytest.mark.parametrize("q", [HALF, QUARTER])
def test_the_stated_law_is_that_of_the_integer_weights(q: tuple[Fraction, ...]) -> None:
    step = made(Relation.REPLACE, q, 3, fineness=1)
    for data in combinations_with_replacement(range(LOW, HIGH + 1), 3):
        how = {"score": step.score, "is_open": step.is_open}
        law = quantile_lists(np.array(data), LOW, HIGH, step.steps(0), step.epsilons, 1, **how)  # type: ignore[arg-type]
        assert stated(step, data) == pytest.approx({answer: float(p) for answer, p in law.items()}, rel=1e-9)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("q", [HALF, QUARTER])
@pytest.mark.parametrize("size", [3, 40])
def test_no_neighbours_lose_more_than_both_epsilons(relation: Relation, q: tuple[Fraction, ...], size: int) -> None:
    assert 0.4 < worst(made(relation, q, size)) <= 3


@pytest.mark.parametrize("relation", list(Relation))
def test_two_rows_of_a_unit_lose_no_more(relation: Relation) -> None:
    assert 0.4 < worst(made(relation, rows=2)) <= 3


@pytest.mark.parametrize("relation", list(Relation))
def test_two_quantiles_and_their_points_lose_no_more(relation: Relation) -> None:
    assert 0.4 < worst(made(relation, OUTER, fineness=2), most=2) <= 3


def test_half_a_change_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = several_quantiles.score_moves
    monkeypatch.setattr(several_quantiles, "score_moves", lambda step, rows: honest(step, rows) / 4)
    assert worst(made(Relation.ADD_REMOVE)) > 3


def test_a_level_that_is_not_counted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = made(Relation.ADD_REMOVE)
    monkeypatch.setattr(QuantilePoints, "epsilons", (Fraction(3),) * 3)
    assert worst(honest) > 3


def test_the_profile_is_that_of_all_levels() -> None:
    step = made(Relation.REPLACE, OUTER)
    profile = step.profile(step.neighbours)
    assert profile.epsilon == 3
    # Two levels of quantiles and three beside them, whose bounded ranges add as squares over eight.
    assert profile.rho == (2 * Fraction(3, 4) ** 2 + 3 * Fraction(1, 2) ** 2) / 8
    added = step.profile(Neighbours(relation=Relation.ADD_REMOVE))
    assert added.epsilon == Fraction(3, 2)


@pytest.mark.parametrize("values", [[], [1], [2] * 50, [0] * 30 + [2] * 30])
@pytest.mark.parametrize("q", [HALF, OUTER])
def test_every_content_is_answered_in_rising_order(values: list[int], q: tuple[Fraction, ...]) -> None:
    step = made(Relation.REPLACE, q, size=1)
    outcome = step.run((Sealed(np.array(values, dtype=np.int64)),), None, RecordedRandomness("any"))
    assert isinstance(outcome, Value) and len(outcome.values) == len(points_of(len(q)))
    assert (np.diff(outcome.values) >= 0).all()
    assert step.block(outcome) is not None


def test_a_point_below_a_heap_does_not_fall_into_it() -> None:
    """Records at the median are in no part beside it: counted from its edge, points find what lies next to the heap."""
    step = replace(made(Relation.ADD_REMOVE, size=2000), high=2000, epsilon=Fraction(40), beside=Fraction(40))
    values = np.sort(np.concatenate([np.arange(0, 990), np.full(600, 1000), np.arange(1010, 1420)]))
    outcome = step.run((Sealed(values),), None, RecordedRandomness("heap"))
    assert isinstance(outcome, Value)
    points = outcome.values.tolist()
    assert points[3] == 1000
    assert points[2] < 1000 and points[1] < 990 and points[4] >= 1000


@pytest.mark.parametrize("q", [(), (Fraction(0),), (Fraction(1, 2), Fraction(1, 4)), (Fraction(1),)])
def test_what_is_no_quantile_is_refused(q: tuple[Fraction, ...]) -> None:
    with pytest.raises(ParameterError):
        made(Relation.REPLACE, q)
