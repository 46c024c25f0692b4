"""Half-widths of estimates whose variance is itself estimated: coverage over every true variance and every uncertainty of it."""

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from dalenius.algebra.intervals import reach
from dalenius.algebra.sums import Form, MeasuredArrays
from dalenius.core.law import Additive
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

POINTS = (np.arange(400) + 0.5) / 400
NORMAL = np.array([NormalDist().inv_cdf(float(p)) for p in POINTS])
LAPLACE = -np.sign(POINTS - 0.5) * np.log1p(-2 * np.abs(POINTS - 0.5)) / 2**0.5
TRUE = np.concatenate([[0.0], np.geomspace(0.05, 5000, 40)])


def coverage(confidence: float, uncertain: float, errors: np.ndarray, true: np.ndarray = TRUE) -> float:
    """The least over all variances of sampling, in units of that of the noise; both errors are normal."""
    from scipy.special import ndtr

    found = true[:, None] + uncertain * errors
    known = {"sampling": found, "uncertainty": uncertain**2}
    half = reach(confidence, np.ones(1), fourth=np.zeros(1), **known) * np.sqrt(1 + np.maximum(found, 0.0))
    held = 2 * ndtr(half / np.sqrt(1 + true[:, None])) - 1
    return float(held.mean(axis=1).min())


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("errors", [NORMAL, LAPLACE], ids=["normal", "laplace"])
def test_intervals_hold_their_level_however_uncertain_the_variance_is(confidence: float, errors: np.ndarray) -> None:
    for uncertain in (0.1, 0.3, 0.6, 1, 2, 5, 16, 64, 256):
        assert coverage(confidence, uncertain, errors) >= confidence - 0.0005


def test_student_alone_would_not_hold_it() -> None:
    """Two degrees of freedom at an estimate that is cut at zero: this is why hardly known variances have a rule of their own."""
    estimates = 1 + np.maximum(80 + 256 * NORMAL, 0.0)
    from scipy.special import ndtr, stdtrit

    degrees = np.maximum(2 * estimates**2 / 256**2, 2.0)
    half = stdtrit(degrees, 0.975) * np.sqrt(estimates)
    assert float((2 * ndtr(half / 9) - 1).mean()) < 0.8


def test_a_variance_that_is_known_has_normal_quantiles_and_little_noise_students() -> None:
    one = np.ones(1)
    z = NormalDist().inv_cdf(0.975)
    assert reach(0.95, one, fourth=np.zeros(1)) == pytest.approx(z)
    assert reach(0.95, one, fourth=np.zeros(1), uncertainty=0.25) == pytest.approx(2.306, abs=1e-3)
    wide = reach(0.95, one, fourth=np.zeros(1), uncertainty=1.0)
    assert wide == pytest.approx(z * (1 + z**2 / 4) ** 0.5)
    assert reach(0.95, one, fourth=np.zeros(1), uncertainty=1.0, sampling=-2.0) == pytest.approx(z * 1.2**0.5)
    few = reach(0.95, 0 * one, fourth=np.zeros(1), uncertainty=1.0, sampling=1.0, records=9)
    assert few > reach(0.95, 0 * one, fourth=np.zeros(1), uncertainty=1.0, sampling=1.0)


def test_a_variance_below_zero_was_measured_and_is_used() -> None:
    """Where noise hides the variance of sampling intervals hold at most 98.5 %, and held 99 % where it was cut at 0."""
    assert coverage(0.95, 4.0, NORMAL, np.array([2.0])) < 0.98
    assert coverage(0.95, 1.0, NORMAL, np.array([0.2])) < 0.985


@pytest.mark.parametrize("squared", ["1/4", "1/2", "1", "4", "8"])
def test_noise_of_two_sums_that_moves_in_a_few_steps_has_its_exact_reach(squared: str) -> None:
    """For every share: the exact half-width holds 95 %, and nothing shorter does; normal quantiles fall short."""
    law = Additive(DiscreteGaussian(sigma_squared=Fraction(squared)), Fraction(1))
    shares = np.linspace(0.02, 0.98, 25)
    form = Form(MeasuredArrays.under(np.zeros((2, 25)), [law, law]), np.stack([1 - shares, -shares]), np.zeros(1))
    half = form.exact_half(0.95)
    assert half is not None
    points, masses = law.central(1e-12)
    chances = np.multiply.outer(masses, masses)

    def held(reach: float, share: float) -> float:
        return float(chances[np.abs((1 - share) * points[:, None] - share * points) <= reach].sum())

    for share, far in zip(shares, half, strict=True):
        assert held(float(far), float(share)) >= 0.95 > held(float(far) * (1 - 1e-9), float(share)) - 1e-4
    normal = NormalDist().inv_cdf(0.975) * np.sqrt(form.variance)
    assert min(held(float(far), float(share)) for far, share in zip(normal, shares, strict=True)) < 0.945
