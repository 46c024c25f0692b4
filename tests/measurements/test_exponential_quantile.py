"""The exponential quantile: exact losses on all neighbours of tiny data, exact draws, ties."""

import sys
from collections import Counter
from fractions import Fraction
from math import log

import numpy as np
import pytest

from dalenius.audit import sensitivity as brute
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.rationals import exp_lower, exp_upper
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError
from dalenius.exact import quantile_selection
from dalenius.exact.quantile_selection import Score, probabilities, score_change, score_weights
from dalenius.measurements.exponential_quantile import ExponentialQuantile

LOW, HIGH = 0, 5
UNIVERSE = tuple(range(LOW, HIGH + 1))


def measurement(relation, q="1/2", epsilon="1", **more):
    return ExponentialQuantile(
        name="median",
        query=ValuesQuery(value="x"),
        low=LOW,
        high=HIGH,
        epsilon=Fraction(epsilon),
        neighbours=Neighbours(relation=relation, **more),
        q=Fraction(q),
    )


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("q", ["1/2", "1/4", "9/10"])
@pytest.mark.parametrize("epsilon", ["1/2", "2"])
@pytest.mark.parametrize("score", list(Score))
def test_no_neighbour_changes_the_odds_by_more_than_epsilon(relation, q, epsilon, score):
    step = measurement(relation, q, epsilon)
    change = score_change(step.q, is_replace=relation is Relation.REPLACE, rows=1)
    w = score_weights(step.epsilon, change, LOW, HIGH, score)
    laws = {
        data: probabilities(np.array(data, dtype=np.int64), LOW, HIGH, step.q, w)
        for n in range(5)
        for data in brute.multisets(UNIVERSE, n)
    }
    top, reached = exp_upper(step.epsilon), Fraction(0)
    for data, law in laws.items():
        for other in brute.neighbours_of(data, UNIVERSE, relation):
            if other in laws:
                for p, r in zip(law, laws[other], strict=True):
                    assert p <= top * r
                    reached = max(reached, p / r)
    assert reached > exp_lower(step.epsilon * Fraction(2, 5))
    assert step.profile(step.neighbours).epsilon == step.epsilon
    assert step.profile(step.neighbours).rho == step.epsilon**2 / 8


@pytest.mark.parametrize("score", list(Score))
def test_bounded_range(score):
    """The spread of log-ratios over outputs, not only their size, is at most epsilon: the premise of epsilon^2 / 8."""
    step = measurement(Relation.REPLACE)
    w = score_weights(step.epsilon, Fraction(2), LOW, HIGH, score)
    for data in brute.multisets(UNIVERSE, 3):
        p = probabilities(np.array(data), LOW, HIGH, step.q, w)
        for other in brute.neighbours_of(data, UNIVERSE, Relation.REPLACE):
            r = probabilities(np.array(other), LOW, HIGH, step.q, w)
            ratios = [log(a / b) for a, b in zip(p, r, strict=True)]
            assert max(ratios) - min(ratios) <= 1 + 1e-9


def test_ties_at_the_answer_win():
    w = score_weights(Fraction(20), Fraction(1), LOW, HIGH)
    law = probabilities(np.array([0, 3, 3, 3, 3, 5]), LOW, HIGH, Fraction(1, 2), w)
    assert law[3] > Fraction(99, 100)


def test_weights_follow_the_exponential():
    w = score_weights(Fraction(1), Fraction(1), 0, 1000)
    ratio = float(Fraction(w[1], w[0]))
    assert ratio == pytest.approx(np.exp(-0.5), rel=1e-15)
    assert w[1] * exp_upper(Fraction(1, 2)) >= w[0]


@pytest.mark.statistical
def test_draws_fit_the_exact_law():
    """20,000 draws, fixed seed; a chi-square beyond 30 on 5 degrees would be one in 68,000."""
    step, rng = measurement(Relation.ADD_REMOVE), RecordedRandomness("quantile")
    data = np.array([1, 2, 2, 4], dtype=np.int64)
    w = score_weights(step.epsilon, Fraction(1), LOW, HIGH)
    law = probabilities(data, LOW, HIGH, step.q, w)
    seen = Counter(int(step.run((Sealed(data),), None, rng).values[0]) for _ in range(20_000))
    chi = sum((seen[y] - 20_000 * float(p)) ** 2 / (20_000 * float(p)) for y, p in enumerate(law))
    assert chi < 30


def test_empty_data_and_extreme_content_answer():
    step, rng = measurement(Relation.ADD_REMOVE), RecordedRandomness(1)
    for data in ([], [99], [-7, -7, 12]):
        answer = step.run((Sealed(np.array(data, dtype=np.int64)),), step.draw(rng), rng)
        assert LOW <= answer.values[0] <= HIGH
        assert step.block(answer).law.structure == "exponential_quantile"


def test_several_rows_to_a_person_cost_in_proportion():
    step = measurement(Relation.ADD_REMOVE)
    assert step.profile(Neighbours(unit="person", max_rows=3)).epsilon == 3
    assert step.profile(Neighbours(relation=Relation.REPLACE)).epsilon == 2


def test_refuses_what_it_cannot_weigh():
    with pytest.raises(ParameterError):
        measurement(Relation.ADD_REMOVE, q="1234567/2345678", epsilon="0.001")
    with pytest.raises(ParameterError):
        measurement(Relation.ADD_REMOVE, q="1")


def test_median_of_a_real_sample_is_close():
    rng = RecordedRandomness("sample")
    values = np.sort(np.random.default_rng(3).normal(50_000, 10_000, 5000).astype(np.int64))
    step = ExponentialQuantile(
        name="m", query=ValuesQuery(value="x"), low=0, high=10**6, epsilon=Fraction(1), neighbours=Neighbours()
    )
    assert abs(int(step.run((Sealed(values),), None, rng).values[0]) - np.median(values)) < 300
    assert step.needs_values() < 100


def test_lists_of_weights_that_are_kept_do_not_fill_the_memory() -> None:
    """However many an epsilon is asked for: of the longest few, and all that can be kept fit into two gigabytes."""
    most = 0
    for cache, rate in (
        (quantile_selection._many, quantile_selection._RATE_OF_MANY),
        (quantile_selection._some, quantile_selection._RATE_OF_SOME),
        (quantile_selection._few, quantile_selection._LEAST_RATE),
    ):
        # A rate of a tenth, and so a list of a tenth and of numbers as large, for the time that the longest take.
        w = quantile_selection._score_weights(10 * rate, Fraction(1), -(2**52), 2**52, Score.DEPTH)
        size = sum(map(sys.getsizeof, w)) + 8 * len(w) + w.limbs.nbytes
        most += 10 * size * cache.cache_info().maxsize
    assert most < 2 * 10**9
    before = quantile_selection._few.cache_info().misses
    score_weights(Fraction(1, 2000), Fraction(1), 0, 1, Score.DEPTH)
    assert quantile_selection._few.cache_info().misses == before + 1
