"""Several quantiles at once: exact loss over all neighbours of tiny data, a planted error, and how far ranks are off."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log

import numpy as np
import pytest
from tests.measurements.derived_laws import quantile_lists, stated

from dalenius.algebra.ranks import levels, steps_of
from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError
from dalenius.exact import several_quantiles
from dalenius.exact.several_quantiles import select_all, spread
from dalenius.measurements.approximate_quantiles import ApproximateQuantiles

LOW, HIGH = 0, 2


def made(relation: Relation, q: tuple[Fraction, ...], size: int = 3, epsilon: int = 3) -> ApproximateQuantiles:
    return ApproximateQuantiles(
        name="q",
        space=CellSpace(()),
        queries=(ValuesQuery(value="x"),),
        low=LOW,
        high=HIGH,
        epsilon=Fraction(epsilon),
        neighbours=Neighbours(relation=relation),
        q=q,
        sizes=(size,),
    )


def worst(step: ApproximateQuantiles) -> float:
    """Largest log ratio of the answers to two neighbours of at most three values."""
    steps, level = step.ranks(0).steps, (step.level_epsilon,) * 9
    return loss_over(
        step, lambda data: quantile_lists(np.array(data, dtype=np.int64), LOW, HIGH, steps, level, 1), most=3
    )


def loss_over(
    step: ApproximateQuantiles, law: Callable[[tuple[int, ...]], dict[tuple[int, ...], Fraction]], most: int
) -> float:
    laws = {data: law(data) for n in range(most + 1) for data in combinations_with_replacement(range(LOW, HIGH + 1), n)}
    largest = 0.0
    for data, here in laws.items():
        rest = [tuple(sorted((*data[:i], *data[i + 1 :]))) for i in range(len(data))]
        if step.neighbours.is_replace:
            others = {tuple(sorted((*r, y))) for r in rest for y in range(LOW, HIGH + 1)}
        else:
            others = set(rest)
        for other in others:
            there = laws[other]
            assert here.keys() == there.keys()
            largest = max(largest, *(abs(log(p / there[answer])) for answer, p in here.items()))
    return largest


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("q", [(Fraction(1, 2),), (Fraction(1, 4),)])
@pytest.mark.parametrize("size", [3, 40])
def test_no_neighbours_lose_more_than_epsilon(relation: Relation, q: tuple[Fraction, ...], size: int) -> None:
    assert 0.5 < worst(made(relation, q, size)) <= 3


QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("size", [3, 40])
def test_several_quantiles_lose_no_more_than_epsilon_together(relation: Relation, size: int) -> None:
    assert 0.5 < worst(replace(made(relation, QUARTILES, size), has_ends=False)) <= 3


def test_a_level_that_is_not_counted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApproximateQuantiles, "levels", 1)
    assert worst(replace(made(Relation.ADD_REMOVE, QUARTILES, 3), has_ends=False)) > 3


@pytest.mark.parametrize("has_ends", [True, False])
def test_the_stated_law_is_that_of_the_integer_weights(has_ends: bool) -> None:
    step = replace(made(Relation.REPLACE, QUARTILES[:1], 3), has_ends=has_ends, fineness=1)
    for data in combinations_with_replacement(range(LOW, HIGH + 1), 3):
        values = np.array(data, dtype=np.int64)
        law = quantile_lists(values, LOW, HIGH, step.ranks(0).steps, step.epsilons, 1)
        assert stated(step, data) == pytest.approx({answer: float(p) for answer, p in law.items()}, rel=1e-9)


@pytest.mark.parametrize("count", range(1, 31))
def test_no_record_takes_part_in_more_selections_than_there_are_levels(count: int) -> None:
    depth = {-1: 0, count: 0}
    for step in steps_of([100 * (k + 1) for k in range(count)], 100 * (count + 1)):
        depth[step.target] = 1 + max(depth[step.left], depth[step.right])
    assert max(depth.values()) <= levels(count)


@pytest.mark.parametrize("relation", list(Relation))
def test_records_that_are_parted_at_random_lose_no_more(relation: Relation) -> None:
    """Every part of a step of every record, listed; a record keeps its part whoever else is there."""
    step = replace(made(relation, QUARTILES[:2], 3), has_ends=False)
    steps, level = step.ranks(0).steps, (step.level_epsilon,) * 9

    def law(data: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        mixture: dict[tuple[int, ...], Fraction] = {}
        for parts in product(range(2), repeat=len(data)):
            fine = np.array([2 * value + part for value, part in zip(data, parts, strict=True)], dtype=np.int64)
            for answer, chance in quantile_lists(fine, 2 * LOW, 2 * HIGH + 1, steps, level, 1).items():
                mixture[answer] = mixture.get(answer, Fraction(0)) + chance / 2 ** len(data)
        return mixture

    assert loss_over(step, law, most=2) <= 3


def test_half_a_change_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = several_quantiles.score_moves
    monkeypatch.setattr(several_quantiles, "score_moves", lambda step, rows: honest(step, rows) / 2)
    assert worst(made(Relation.ADD_REMOVE, (Fraction(1, 2),), 3)) > 3


def test_ranks_of_many_values_are_close() -> None:
    rng, draws = RecordedRandomness("ranks"), np.random.default_rng(5)
    n, offs = 20_000, []
    for _ in range(6):
        values = np.clip(np.rint(np.exp(draws.normal(10, 0.8, n))), 0, 10**6).astype(np.int64)
        steps = steps_of([n * k // 10 for k in range(1, 10)], n)
        chosen = select_all(values, 0, 10**6, steps, (Fraction(1, 4),) * 4, 1, rng)
        assert chosen == sorted(chosen)
        offs.append(np.abs(np.searchsorted(np.sort(values), chosen) - n * np.arange(1, 10) / 10))
    assert np.mean(offs) <= 6.5


def test_ties_are_parted_by_rank() -> None:
    step = made(Relation.ADD_REMOVE, (Fraction(1, 4), Fraction(3, 4)), size=4000)
    values = np.repeat([0, 1, 2], [900, 2200, 900])
    outcome = step.run((Sealed(values),), None, RecordedRandomness("ties"))
    assert isinstance(outcome, Value)
    places = step.ranks(0).places
    assert [int(outcome.values[place[1]]) for place in places] == [1, 1]
    fine = spread(values, 256, RecordedRandomness("fine"))
    assert (fine // 256 == values).all() and len(np.unique(fine)) > 700


def test_every_content_is_answered() -> None:
    step = made(Relation.REPLACE, (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), size=1)
    for values in ([], [1], [2] * 50):
        outcome = step.run((Sealed(np.array(values, dtype=np.int64)),), None, RecordedRandomness("any"))
        assert isinstance(outcome, Value) and len(outcome.values) == 9
        assert step.block(outcome) is not None


@pytest.mark.parametrize("q", [(), (Fraction(0),), (Fraction(1, 2), Fraction(1, 4)), (Fraction(1),)])
def test_what_is_no_quantile_is_refused(q: tuple[Fraction, ...]) -> None:
    with pytest.raises(ParameterError):
        made(Relation.REPLACE, q)
