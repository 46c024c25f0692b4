"""Truncated normal noise: the paper's deltas, and the exact hockey-stick divergence by brute force."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.approximate import Approximate
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.sampling import sample
from dalenius.mechanisms.truncated_normal import TruncatedNormal

ONE = Sensitivity.of_patterns(((1,),))
TWO = Sensitivity.of_patterns(((1, 1),))


def masses(law: TruncatedNormal) -> dict[int, float]:
    table = law.weights(200)
    total = sum(table.lower)
    return {table.first + i: w / total for i, w in enumerate(table.lower)}


def hockey(p: dict[int, float], shift: int, epsilon: float) -> float:
    moved = {x + shift: w for x, w in p.items()}
    return sum(max(0.0, w - exp(epsilon) * moved.get(x, 0.0)) for x, w in p.items())


@pytest.mark.parametrize(
    ("epsilon", "limit", "delta"), [("1", 10, 1.05376e-3), ("0.5", 10, 8.22786e-3), ("1.5", 12, 2.44457e-5)]
)
def test_published_deltas_are_exact_at_epsilon(epsilon: str, limit: int, delta: float) -> None:
    law = TruncatedNormal.of_paper(epsilon, limit)
    profile = law.profile(ONE, Relation.ADD_REMOVE)
    assert float(profile.delta) == pytest.approx(delta, rel=1e-5)
    assert profile.epsilon == Fraction(epsilon) * (2 * limit - 1) / (2 * limit + 1)
    assert hockey(masses(law), 1, float(Fraction(epsilon))) == pytest.approx(delta, rel=1e-5)


def test_the_account_is_charged_by_the_losses_and_not_by_what_epsilon_implies() -> None:
    """The paper's law at 1.5 and 12: epsilon tanh of half epsilon would be above 0.7."""
    profile = TruncatedNormal.of_paper("1.5", 12).profile(ONE, Relation.ADD_REMOVE)
    assert 0.06 <= float(Approximate().cost([profile]).rho) <= 0.067


@pytest.mark.parametrize("at", ["0.2", "0.6", "0.9", "1.2"])
def test_curve_equals_brute_force_for_one_and_two_cells(at: str) -> None:
    law = TruncatedNormal.of_variance(6, 9)
    p, e = masses(law), float(Fraction(at))
    one = float(law.profile(ONE, Relation.ADD_REMOVE).delta_at(Fraction(at)))
    assert one == pytest.approx(hockey(p, 1, e), rel=1e-9, abs=1e-15)
    both = sum(max(0.0, p[x] * p[y] - exp(e) * p.get(x - 1, 0.0) * p.get(y + 1, 0.0)) for x in p for y in p)
    two = float(law.profile(TWO, Relation.REPLACE).delta_at(Fraction(at)))
    assert two == pytest.approx(both, rel=1e-9, abs=1e-15)


def test_a_discrete_gaussian_of_the_same_variance_has_a_smaller_delta() -> None:
    """Errata: the paper's normal noise is wide for its guarantee."""
    from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

    gaussian = DiscreteGaussian(Fraction(25, 3)).profile(ONE, Relation.ADD_REMOVE)
    assert float(gaussian.delta_at(Fraction("1.5"))) == pytest.approx(9.1776e-7, rel=1e-3)


def test_two_parametrisations_are_one_family() -> None:
    assert TruncatedNormal.of_paper("1.5", 12) == TruncatedNormal.of_variance(Fraction(25, 3), 12)
    law = TruncatedNormal(**TruncatedNormal.of_paper("1", 10).parameters)
    assert law == TruncatedNormal.of_paper("1", 10)
    assert TruncatedNormal.of_paper("1.5", 12).variance == pytest.approx(8.33, abs=0.01)


def test_calibration_fits_and_is_not_wasteful() -> None:
    budget = Budget.of("approximate", epsilon=1, delta="1e-6")
    law = calibrate(TruncatedNormal, ONE, Relation.ADD_REMOVE, Approximate(), budget)
    assert law.profile(ONE, Relation.ADD_REMOVE).delta_at(Fraction(1)) <= Fraction(1, 10**6)
    assert law.variance < 4.3**2 * 1.2


def test_samples_stay_within_the_limit_and_fit() -> None:
    law = TruncatedNormal.of_variance(4, 5)
    drawn = sample(law, 40_000, RecordedRandomness("truncated normal"))
    assert np.abs(drawn).max() <= 5
    counts = np.bincount(drawn + 5, minlength=11)
    expected = 40_000 * np.exp(law.log_pmf(np.arange(-5, 6)))
    assert ((counts - expected) ** 2 / expected).sum() < 31.4  # chi-square, 10 degrees of freedom, p = 0.0005


def test_refusals() -> None:
    with pytest.raises(ParameterError):
        TruncatedNormal(rate=Fraction(0), limit=3)
    with pytest.raises(ParameterError):
        TruncatedNormal(rate=Fraction(1), limit=0)
    with pytest.raises(TooLarge):
        TruncatedNormal(rate=Fraction(1), limit=10**6)
    assert TruncatedNormal.of_variance(4, 3).profile(Sensitivity.of_patterns(((9,),)), Relation.ADD_REMOVE).delta == 1


def test_moves_beyond_every_range_are_refused_at_once() -> None:
    budget = Budget.of("approximate", epsilon=1, delta="1e-6")
    with pytest.raises(TooLarge):
        TruncatedNormal.tailored(Fraction(1, 100), budget, Sensitivity.of_patterns(((1 << 31,),)))
