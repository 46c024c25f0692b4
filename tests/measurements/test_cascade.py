"""Cascades of propose-test-release: exact (epsilon, delta) of the whole outcome, through requests and over all distances."""

from collections.abc import Hashable, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from tests.audit.exact_losses import kernel_delta
from tests.measurements.derived_laws import proposed_answers

from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import NoReply
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements._distance_test import least_threshold, sure_distance
from dalenius.measurements.cascade import MOST_BOUNDS, Cascade, ladder, least_spacing, loss_factor
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of

VALUES, MOST = (0, 1, 3, 6), 5
EPSILON, DELTA = Fraction(3), Fraction(1, 20)


def step_of(relation: Relation, **table: Any) -> Cascade:
    declared = {
        "dataset": {"name": "d", "population": "p", "public": True},
        "unit": {"relation": str(relation)},
        "variables": {"x": {"bounds": [0, 6], "step": 1, "missing": "0"}},
    }
    request = {
        "table": {"measure": "propose_test_release", "of": "x", "bounds": [1, 2], **table},
        "privacy": {"definition": "approximate", "epsilon": str(EPSILON), "delta": str(DELTA)},
    }
    (step,) = plan_of(DatasetDocument.from_dict(declared).domain(), request, {}).measurements
    assert isinstance(step, Cascade) and step.test + step.epsilon == EPSILON
    return step


def pairs(relation: Relation) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All neighbours of at most five values."""
    for count in range(MOST):
        for others in combinations_with_replacement(VALUES, count):
            both = [tuple(sorted((*others, v))) for v in VALUES]
            if relation is Relation.ADD_REMOVE:
                yield from ((others, more) for more in both)
            else:
                yield from ((a, b) for a in both for b in both if a < b)


def worst_delta(step: Cascade, relation: Relation) -> Fraction:
    laws: dict[tuple[int, ...], dict[Hashable, Fraction]] = {}
    worst = Fraction(0)
    for pair in pairs(relation):
        for values in pair:
            if values not in laws:
                laws[values] = proposed_answers(step, np.array(values, dtype=np.int64), reach=9)
        worst = max(worst, kernel_delta([laws[values] for values in pair], EPSILON, bits=64)[0])
    return worst


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("estimate", ["median", "interquartile", "quantile"])
def test_all_neighbours_keep_to_epsilon_and_delta(relation: Relation, estimate: str) -> None:
    more = {"q": "1/4"} if estimate == "quantile" else {}
    assert worst_delta(step_of(relation, estimate=estimate, **more), relation) <= DELTA + Fraction(1, 10**9)


class Planted(Cascade):
    """A step with other thresholds, or another noise of its tests."""

    change: Any = None

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Where the fault is."""
        return tuple(self.change(super().thresholds))


@pytest.mark.parametrize("relation", list(Relation))
def test_lower_thresholds_and_less_noise_are_found(relation: Relation) -> None:
    step = step_of(relation)
    planted = Planted(**{each.name: getattr(step, each.name) for each in fields(step)})
    object.__setattr__(planted, "change", lambda right: [threshold - 1 for threshold in right])
    assert worst_delta(planted, relation) > DELTA * Fraction(11, 10)
    assert worst_delta(replace(step, epsilon=2 * step.epsilon), relation) > DELTA * Fraction(11, 10)


def losses(step: Cascade, highest: int) -> float:
    """The largest log ratio of an outcome between any rising distances and any that differ by at most one each."""
    many = len(step.bounds)
    laws = {
        distances: np.array(step.passed(distances))
        for distances in combinations_with_replacement(range(highest + 1), many)
    }
    worst = 0.0
    for distances, law in laws.items():
        for moves in product((-1, 0, 1), repeat=many):
            other = laws.get(tuple(d + m for d, m in zip(distances, moves, strict=True)))
            if other is not None:
                with np.errstate(divide="ignore", invalid="ignore"):
                    # An outcome that neither gives tells nothing.
                    worst = max(worst, float(np.nanmax(np.abs(np.log(law / other)))))
    return worst


@pytest.mark.parametrize("test", ["1/2", "2"])
def test_which_bound_passes_loses_what_the_tests_are_priced_at(test: str) -> None:
    """Over all distances, which is more than any data can show; a spacing that is one less would be found."""
    step = replace(step_of(Relation.REPLACE), bounds=(1, 2), test=Fraction(test), delta=Fraction(1, 8))
    highest = step.thresholds[0] + step.spacing + 4
    loss = losses(step, highest)
    assert loss <= float(step.test) * (1 + 1e-9)
    planted = Planted(**{each.name: getattr(step, each.name) for each in fields(step)})
    object.__setattr__(planted, "change", lambda right: [right[0] - 1, right[1]])
    closer = losses(planted, highest)
    # As many distances as there are, and thresholds on them, reach the price of the spacing.
    assert loss == pytest.approx(float(step.rate) + log(loss_factor(step.rate, step.spacing)), rel=1e-6)
    assert closer > loss and (step.spacing == 1 or closer > float(step.test))


def test_one_noise_for_all_tests_needs_monotone_distances_and_gets_them() -> None:
    class Falling:
        query = step_of(Relation.REPLACE).statistic.query

        def value(self, values: Any) -> int:
            return 0

        def distance(self, values: Any, bound: int, neighbours: Any) -> int:
            return 10 - bound

    step = replace(step_of(Relation.REPLACE), statistic=Falling())
    assert step.distances(np.array([1])) == (9, 9)


def test_a_cascade_needs_little_more_than_one_bound() -> None:
    """At epsilon 1 and delta 1e-6: of four bounds, between 36 and 57 records; of one alone 35, of four tests one by one 151."""
    test, delta = Fraction(1, 2), Fraction(1, 10**6)
    step = replace(step_of(Relation.REPLACE), bounds=(1, 2, 3, 4), test=test, delta=delta)
    assert (step.sure[0], step.sure[-1]) == (57, 36)
    assert sure_distance(test, least_threshold(test, delta)) == 35
    assert sure_distance(test / 4, least_threshold(test / 4, delta / 4)) == 151


def test_the_price_is_never_above_what_is_paid() -> None:
    for many in (2, 5, MOST_BOUNDS):
        for test in (Fraction(1, 1000), Fraction(1, 2), Fraction(3), Fraction(20)):
            rate, spacing = ladder(test, Fraction(1, 10**6), many)
            assert float(rate) + log(loss_factor(rate, spacing)) <= float(test) * (1 + 1e-12)
            assert spacing == least_spacing(test, rate)
            base = exp(-float(rate))
            exact = (1 - base ** (spacing + 2)) / (1 - base**spacing)
            assert float(loss_factor(rate, spacing)) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("exponent", [310, 400])
def test_a_delta_below_all_doubles_has_a_ladder_like_others(exponent: int) -> None:
    """One bound alone takes such a delta; thresholds grow in proportion to its logarithm."""
    step = replace(step_of(Relation.REPLACE), delta=Fraction(1, 10**exponent))
    smaller = replace(step, delta=Fraction(1, 10 ** (exponent // 2)))
    assert step.rate >= smaller.rate and step.thresholds[-1] == pytest.approx(
        log(10) * exponent / float(step.rate), rel=0.01
    )


def test_bounds_pass_as_often_as_planned() -> None:
    step = replace(step_of(Relation.REPLACE), test=Fraction(1, 2))
    values, rng, runs = (np.array([0] + [2] * 9 + [3] * 8 + [5] * 4, dtype=np.int64), RecordedRandomness("pass"), 4000)
    planned = step.passed(step.distances(values))
    counts = [0] * len(planned)
    for _ in range(runs):
        outcome = step.run((Sealed(values),), step.draw(rng), rng)
        counts[-1 if isinstance(outcome, NoReply) else int(outcome.values[1])] += 1
    assert sum(planned) == pytest.approx(1) and sum(chance > 0.02 for chance in planned) >= 3
    for chance, count in zip(planned, counts, strict=True):
        assert abs(count / runs - chance) <= 6.2 * (chance * (1 - chance) / runs) ** 0.5


@pytest.mark.parametrize("bounds", [(1,), (2, 1), (1, 1), (0, 1), tuple(range(1, MOST_BOUNDS + 2))])
def test_bounds_rise(bounds: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError):
        replace(step_of(Relation.REPLACE), bounds=bounds)


def test_one_row_to_a_unit() -> None:
    step = step_of(Relation.REPLACE)
    several = replace(step.neighbours, unit="person", max_rows=2)
    with pytest.raises(Unsupported):
        replace(step, neighbours=several)
    with pytest.raises(Unsupported):
        step.profile(several)
