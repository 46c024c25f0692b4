"""Intervals for one count: published vectors, exact coverage by summation, edges."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import beta, chi2

from dalenius.core.estimate import Kind
from dalenius.errors import ParameterError
from dalenius.inference.interval import (
    SHARES,
    binomial_interval,
    count_interval,
    holm,
    p_values,
    poisson_interval,
    poisson_limits,
    simultaneous_confidence,
)
from dalenius.inference.noise import Noise


@pytest.mark.parametrize(
    ("value", "epsilon", "lower", "upper"),
    [
        (5, "1", 0.965113, 12.459250),
        (5, "0.5", 0.0, 14.464269),
        (0, "1", 0.0, 5.340149),
        (100, "0.1", 66.136508, 137.058211),
    ],
)
def test_poisson_vectors(laplace, value, epsilon, lower, upper) -> None:
    found = poisson_interval(value, laplace(epsilon))
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=2e-6)
    assert found.kind is Kind.NOISE_AND_SAMPLING


def test_binomial_vectors(laplace) -> None:
    found = binomial_interval(40, 80, laplace("0.5"))
    assert (found.lower, found.upper) == pytest.approx((0.366286, 0.633714), abs=2e-6)
    plain = binomial_interval(40, 80, Noise.none())
    assert (plain.lower, plain.upper) == pytest.approx((beta.ppf(0.025, 40, 41), beta.ppf(0.975, 41, 40)), abs=1e-7)
    assert binomial_interval(90, 80, laplace("0.5")).upper == 1.0
    assert binomial_interval(-4, 80, laplace("0.5")).lower == 0.0


def test_without_noise_it_is_garwood() -> None:
    low, high = poisson_limits([0, 3, 50], Noise.none())
    assert low[1:] == pytest.approx(chi2.ppf(0.025, [6, 100]) / 2, rel=1e-7)
    assert high == pytest.approx(chi2.ppf(0.975, [2, 8, 102]) / 2, rel=1e-7)
    assert low[0] == 0


def test_count_interval_is_cut_at_zero_and_flags_the_impossible(laplace) -> None:
    found = count_interval(1, laplace("1"))
    assert (found.lower, found.upper, found.kind) == (0, 4, Kind.NOISE)
    flagged = count_interval(-9, laplace("1"))
    assert (flagged.lower, flagged.upper) == (0, 0)
    assert "nearest count" in flagged.method
    signed = count_interval(-9, laplace("1"), is_signed=True)
    assert (signed.lower, signed.upper) == (-12, -6)


def test_simultaneous_level_is_exact_for_independent_cells(laplace) -> None:
    noise = Noise.of(laplace("0.5"))
    q = noise.half_width(simultaneous_confidence(0.95, 50))
    inside = 1 - float(noise.upper_tail(q + 1) + noise.cdf(-q - 1))
    assert inside**50 >= 0.95 > (1 - float(noise.upper_tail(q) + noise.cdf(-q))) ** 50


def coverage(noise: Noise, mean: float, limits: tuple[np.ndarray, np.ndarray]) -> float:
    a = np.arange(0, int(mean + 9 * np.sqrt(mean) + 40))
    log = a * np.log(mean) - mean - gammaln(a + 1.0) if mean else np.where(a == 0, 0.0, -np.inf)
    pmf = np.convolve(np.exp(log), noise.pmf)
    low, high = (end[: len(pmf)] for end in limits)
    return float(pmf @ ((low <= mean) & (mean <= high)))


@pytest.mark.parametrize("epsilon", ["0.2", "1", "2"])
def test_coverage_by_summation(laplace, epsilon) -> None:
    """The full grid is verify/inference_coverage.py."""
    noise = Noise.of(laplace(epsilon))
    values = np.arange(noise.first, noise.last + 260)
    exact, middle = (poisson_limits(values, noise, method=m) for m in ("exact", "mid-p"))
    means = [0, 0.3, 1, 2, 3.6, 5, 8, 12, 20, 35, 60, 100]
    assert min(coverage(noise, m, exact) for m in means) >= 0.95
    found = [coverage(noise, m, middle) for m in means]
    assert min(found) >= 0.925
    assert 0.94 <= np.mean(found) <= 0.975


@pytest.mark.parametrize(
    ("method", "epsilon", "least"),
    [("exact", "3", 0.95), ("guarded", "3.4", 0.9347), ("mid-p", "3", 0.9049), ("mid-p", "2", 0.9255)],
)
def test_least_coverage_over_all_real_means(laplace, method, epsilon, least) -> None:
    """Coverage falls towards the ends of the intervals and jumps there: its infimum is a limit at an end."""
    noise = Noise.of(laplace(epsilon))
    limits = poisson_limits(np.arange(noise.first, noise.last + 160), noise, method=method)
    ends = np.concatenate([np.nextafter(limits[0], -np.inf), np.nextafter(limits[1], np.inf)])
    found = min(coverage(noise, float(m), limits) for m in ends if 0 < m < 40)
    assert least - 1e-9 <= found < least + 1e-3


def test_guarded_and_mid_p_lie_inside(laplace) -> None:
    exact, guarded, middle = (poisson_interval(20, laplace("1"), method=m) for m in SHARES)
    assert exact.lower < guarded.lower < middle.lower < middle.upper < guarded.upper < exact.upper
    assert poisson_interval(20, laplace("1"), exposure=10).upper == pytest.approx(exact.upper / 10)


def test_refusals(laplace) -> None:
    with pytest.raises(ParameterError):
        poisson_interval(3, laplace("1"), confidence=1.5)
    with pytest.raises(ParameterError):
        poisson_interval(3, laplace("1"), method="wald")
    with pytest.raises(ParameterError):
        poisson_interval(3, laplace("1"), exposure=0)
    with pytest.raises(ParameterError):
        binomial_interval(3, 0, laplace("1"))


def test_holm_is_closed_testing_by_bonferroni() -> None:
    """A number is rejected at a level where every set that holds it has a p-value below the level over its size."""
    rng = np.random.default_rng(41)
    for _ in range(50):
        errors = np.round(rng.uniform(0, 1, 5) ** 3, 2)
        sets = [chosen for size in range(1, 6) for chosen in combinations(range(5), size)]
        closed = [max(min(errors[list(s)]) * len(s) for s in sets if k in s) for k in range(5)]
        assert holm(errors) == pytest.approx(np.minimum(closed, 1))


def test_p_values_are_the_least_errors_and_never_below() -> None:
    limits = np.array([1e-12, 3e-4, 0.0123, 0.05, 0.7, 1.0])
    found = p_values(lambda place, error: error >= limits[place], len(limits))
    assert (found >= limits).all() and (found <= np.maximum(1.01 * limits, 1.01e-9)).all()
    assert found[3] == 0.05
