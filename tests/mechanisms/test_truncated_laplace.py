"""Truncated discrete Laplace noise: exact delta under both relations, shortest limits, hard bound."""

from fractions import Fraction

import numpy as np
import pytest
from tests.audit.exact_losses import hockey_stick, product_hockey_stick

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.approximate import Approximate
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.sampling import sample
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction
ONE, TWO = Sensitivity.of_patterns(((1,),)), Sensitivity.of_patterns(((1, 1),))


@pytest.mark.parametrize(
    "epsilon,limit,delta",
    [
        ("1", 10, 2.098060e-5),
        ("0.5", 10, 1.658688e-3),
        ("1.5", 7, 1.748992e-5),
        ("0.5", 7, 7.568475e-3),
        ("0.1", 10, 2.825316e-2),
        ("0.1", 7, 4.696611e-2),
        ("0.5", 5, 2.143256e-2),
    ],
)
def test_delta_is_exactly_the_end_point(epsilon, limit, delta):
    law = TruncatedLaplace(F(epsilon), limit)
    profile = law.profile(ONE, Relation.ADD_REMOVE)
    assert float(profile.delta) == pytest.approx(delta, rel=1e-6)
    assert profile.epsilon == F(epsilon)
    for at in (F(epsilon), 2 * F(epsilon), F(30)):
        low, high = hockey_stick(law, 1, at)
        assert low <= profile.delta_at(at) <= high + F(1, 10**38)
        assert profile.delta_at(at) == profile.delta


def test_replace_is_exact():
    profile = TruncatedLaplace(F(1), 10).profile(TWO, Relation.REPLACE)
    assert float(profile.delta_at(F(2))) == pytest.approx(4.196076e-5, rel=1e-6)
    assert float(profile.delta_at(F(1))) == pytest.approx(0.337862, abs=1e-6)
    low, high = product_hockey_stick(TruncatedLaplace(F(1), 10), (1, 1), F(1))
    assert low - F(1, 10**20) <= profile.delta_at(F(1)) <= high + F(1, 10**20)


@pytest.mark.parametrize(
    "epsilon,delta,limit", [("1", "1e-6", 14), ("0.5", "1e-6", 25), ("0.1", "1e-6", 109), ("1", "1e-9", 20)]
)
def test_shortest_limit(epsilon, delta, limit):
    budget = Budget.of("approximate", epsilon=epsilon, delta=delta)
    made = calibrate(TruncatedLaplace, ONE, Relation.ADD_REMOVE, Approximate(), budget)
    assert (made.rate, made.limit) == (F(epsilon), limit)
    shorter = TruncatedLaplace(made.rate, limit - 1)
    assert shorter.profile(ONE, Relation.ADD_REMOVE).delta > budget.delta


@pytest.mark.parametrize("patterns", [((1, 1),), ((1,) * 5,), ((3,), (2, 1), (1, 1, 1))])
def test_every_moved_cell_counts(patterns):
    sensitivity = Sensitivity.of_patterns(patterns)
    budget = Budget.of("approximate", epsilon=1, delta="1e-5")
    made = calibrate(TruncatedLaplace, sensitivity, Relation.REPLACE, Approximate(), budget)
    profile = made.profile(sensitivity, Relation.REPLACE)
    assert profile.delta_at(F(1)) <= F(1, 10**5)
    k = np.arange(-made.limit, made.limit + 1)
    p = np.exp(made.log_pmf(k))
    worst = max(1 - np.prod([1 - p[:s].sum() for s in pattern]) for pattern in patterns)
    assert float(profile.delta) == pytest.approx(worst, rel=1e-9)


def test_a_move_beyond_the_limit_hides_nothing():
    profile = TruncatedLaplace(F(1), 3).profile(Sensitivity.of_patterns(((5,),)), Relation.ADD_REMOVE)
    assert profile.delta == 1 and profile.delta_at(F(50)) == 1


@pytest.mark.statistical
@pytest.mark.parametrize("rate,limit", [(F(1, 2), 6), (F(1, 10**5), 10**6), (F(1, 10**4), 9000)])
def test_draws_stay_within_the_limit(rate, limit):
    law = TruncatedLaplace(rate, limit)
    draws = sample(law, 100_000, RecordedRandomness(1))
    assert np.abs(draws).max() <= limit
    assert draws.var() == pytest.approx(law.variance, rel=0.03)
    assert abs(draws.mean()) < 5 * (law.variance / len(draws)) ** 0.5


@pytest.mark.parametrize(
    "rate,limit",
    [
        (F(1, 7), 40),
        (F(1, 1000), 1500),
        (F(1, 10**6), 2000),
        (F(1, 3000), 5000),
        (F(1, 10**5), 300_000),
        (F(1, 50), 4000),
    ],
)
def test_variance(rate, limit):
    law = TruncatedLaplace(rate, limit)
    k = np.arange(-limit, limit + 1).astype(float)
    assert law.variance == pytest.approx((k * k * np.exp(law.log_pmf(k.astype(int)))).sum(), rel=1e-9)


def test_refusals():
    for rate, limit in ((0, 1), (1, 0), (1, 1.5), (1, True), ("x", 2)):
        with pytest.raises(ParameterError):
            TruncatedLaplace(rate, limit)
    with pytest.raises(TooLarge):
        TruncatedLaplace(F(1, 2**41), 5)
    with pytest.raises(TooLarge):
        sample(TruncatedLaplace(F(1, 2**39), 10**5), 1, RecordedRandomness(0))
    with pytest.raises(ParameterError):
        TruncatedLaplace.family(F(1), Budget.of("pure", epsilon=1))
