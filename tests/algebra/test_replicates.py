"""Estimates from noisy replicates: corrected variances, and an interval whose coverage is computed, not simulated."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import chdtri, ndtr, ndtri
from scipy.stats import binomtest, chi2, norm

from dalenius.algebra.replicates import Replicates, deconvolved

NORMAL = ndtri((np.arange(50) + 0.5) / 50)


def replicates(spread: float, k: int = 50, mean: float = 0.0) -> Replicates:
    """k replicates of this mean and variance, with noise of variance 1."""
    z = ndtri((np.arange(k) + 0.5) / k)
    z *= np.sqrt(spread / z.var(ddof=1))
    return Replicates(totals=(mean + z)[None, :], noise=1.0, reach=1.0)


def test_the_three_variances_take_off_the_noise_all_of_it_or_none() -> None:
    made = replicates(3.0)
    share = float(chdtri(49, 0.95)) / 49
    assert 0.6 < share < 0.8
    assert made.sampling("unbiased")[0] == pytest.approx(2.0)
    assert made.sampling("conservative")[0] == pytest.approx(3.0 - share)
    assert made.sampling("most_conservative")[0] == pytest.approx(3.0)
    assert replicates(0.5).sampling()[0] == 0.0


def test_a_fixed_number_of_rows_takes_off_what_resampling_it_added() -> None:
    """Poisson multiplicities let the number of rows vary: the variance of a total about c holds n (mean - c)^2 too much."""
    made = replace(replicates(9.0, mean=20.0), records=np.array([100.0]))
    assert made.counted[0] == pytest.approx((20.0**2 - 9.0 / 50) / 100)
    assert made.sampling()[0] == pytest.approx(9.0 - 1.0 - made.counted[0])


def test_a_quotient_by_a_measured_number_of_rows_has_fiellers_interval() -> None:
    """In a cell of few rows the noise of their number is that at the true quotient, not that at the shown one."""
    rng, cells, true = np.random.default_rng(1), 4000, -1.0
    for rows in (1.0, 4.0, 400.0):
        totals = true * rows + np.sqrt(rows + 8.0) * rng.standard_normal((cells, 20))
        records = rows + np.sqrt(3.4) * rng.standard_normal(cells)
        made = Replicates(totals=totals, noise=8.0, reach=1.0, records=records, records_variance=3.4)
        n, shown = np.maximum(records, 1.0), made.bagged / np.maximum(records, 1.0)
        half = made.half_widths(0.95, is_sampling=False)
        below, above = made.quotient_sides(0.95, half)
        # An interval without ends holds everything.
        missed = [float(np.mean(wrong)) for wrong in (true < shown - below / n, true > shown + above / n)]
        assert max(missed) < 0.035, (rows, missed)
        plain = max(np.mean(true < shown - half / n), np.mean(true > shown + half / n))
        assert rows > 1 or plain > 0.1
        if rows > 100:
            np.testing.assert_allclose(np.stack([below, above]), np.stack([half, half]), rtol=0.05)


def coverage(k: int, ratio: float, share: float | None = None) -> float:
    """Of the calibrated 95 % interval, where the sampling variance is `ratio` variances of one replicate's noise.

    It is a share of the largest variance that the declared bounds allow, if they allow a largest one.
    """
    spreads = (1 + ratio) * chi2.ppf((np.arange(60) + 0.5) / 60, k - 1) / (k - 1)
    made = Replicates(
        totals=np.concatenate([replicates(s, k).totals for s in spreads]),
        noise=1.0,
        reach=1.0 if share is None else float(np.sqrt(ratio / share)),
        records=None if share is None else np.ones(60),
    )
    half = made.half_widths(0.95, is_sampling=True)
    return float((2 * ndtr(half / np.sqrt(ratio + (1 + ratio) / k)) - 1).mean())


@pytest.mark.parametrize("k", [25, 50, 200])
def test_the_calibrated_interval_covers_whatever_the_sampling_variance_is(k: int) -> None:
    for ratio in (0.0, 0.006, 0.1, 0.3, 0.6, 1.0, 3.0, 30.0):
        assert coverage(k, ratio) >= 0.94
    assert all(coverage(k, ratio) <= 0.98 for ratio in (0.3, 0.6, 1.0, 3.0, 30.0))


@pytest.mark.parametrize("share", [1.0, 0.85, 0.2])
def test_values_at_the_declared_bounds_are_covered_as_often_as_others(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise of the mean of the replicates from 3 times the sampling variance to 100 times less; 25 replicates."""
    ratios = [r / 25 for r in (0.3, 1.0, 5.0, 20.0, 100.0)]
    assert min(coverage(25, ratio, share) for ratio in ratios) >= 0.94
    # A prior that spreads evenly up to the bound fails where the values are at the bounds.
    monkeypatch.setattr("dalenius.algebra.replicates._AT_THE_BOUND", 0.0)
    assert (min(coverage(25, ratio, share) for ratio in ratios) < 0.935) == (share > 0.5)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.2])
def test_measured_squares_leave_coverage_near_the_nominal_one_at_every_noise(share: float) -> None:
    """25 replicates; squares of 500 rows with the noise that a tenth buys, over quantiles of both noises; v / sigma^2 from 0.3 to 100."""
    k, rows = 25, 500
    for ratio in (0.3, 1.0, 10.0, 100.0):
        v = ratio / k
        spreads = (1 + v) * chi2.ppf((np.arange(8) + 0.5) / 8, k - 1) / (k - 1)
        reach = np.sqrt(v / share / rows)
        error = 3 * reach / np.sqrt(k)
        measured = v + error * ndtri((np.arange(8) + 0.5) / 8)
        made = Replicates(
            totals=np.concatenate([replicates(s, k).totals for s in np.repeat(spreads, 8)]),
            noise=1.0,
            reach=float(reach),
            records=np.full(64, float(rows)),
            squares=np.tile(measured, 8),
            squares_variance=error**2,
        )
        half = made.half_widths(0.95, is_sampling=True)
        known = np.sqrt(v + (1 + v) / k)
        assert 0.94 <= float((2 * ndtr(half / known) - 1).mean()) <= 0.97
        assert half.mean() <= 1.1 * 1.96 * known
        assert made.sampling().mean() == pytest.approx(v, rel=0.1)
        assert replace(made, squares=None).half_widths(0.95, is_sampling=True).mean() > 0.97 * half.mean()


def test_nothing_is_left_to_guess_of_a_proportion() -> None:
    """Every row adds one or takes one off: the sampling variance is n - T^2 / n whatever the spread of the replicates is."""
    known = replace(replicates(40.0, mean=20.0), noise=30.0, records=np.array([100.0]), is_even=True)
    share = 20 / 104
    assert known.sampling()[0] == pytest.approx(100 * (1 - share**2), rel=1e-3)
    half = known.half_widths(0.95, is_sampling=True)[0]
    assert half == pytest.approx(1.96 * np.sqrt(100 * (1 - share**2) + 130 / 50), rel=1e-3)
    # A share of nothing has an error too.
    assert replace(known, totals=known.totals + 80.0).sampling()[0] > 4.0


@pytest.mark.parametrize(("rows", "having"), [(1, 1), (2, 1), (3, 3), (10, 9)])
@pytest.mark.parametrize("count", [2, 5, 20])
def test_shares_of_few_rows_are_covered(rows: int, having: int, count: int) -> None:
    """The totals of few resampled rows are often all the same; noise and the error of the number of rows are small."""
    rng, many = np.random.default_rng(3), 4_000
    signed = rng.poisson(having, (many, count)) - rng.poisson(rows - having, (many, count))
    made = Replicates(
        totals=signed + rng.normal(0, 0.1, signed.shape),
        noise=0.01,
        reach=1.0,
        records=rows + rng.normal(0, 0.03, many),
        records_variance=0.03**2,
        is_even=True,
    )
    below, above = made.quotient_sides(0.95, made.half_widths(0.95, is_sampling=False))
    assert made.records is not None
    share, truth = made.bagged / made.records, 2 * having / rows - 1
    # What is shown of a share ends where shares do.
    lower, upper = share - below / made.records, share + above / made.records
    misses = np.maximum(lower, -1.0) > truth, np.minimum(upper, 1.0) < truth
    for missed in misses:
        assert binomtest(int(missed.sum()), many, 0.035, alternative="greater").pvalue > 0.0005


def test_declared_bounds_make_the_interval_shorter_where_noise_hides_the_variance() -> None:
    free = replicates(1.0)
    bound = replace(free, records=np.array([5.0]), reach=0.1)
    assert bound.half_widths(0.95, is_sampling=True) < 0.6 * free.half_widths(0.95, is_sampling=True)
    # It is never shorter than the interval of noise and resampling alone would be by normal quantiles.
    assert bound.half_widths(0.95, is_sampling=True)[0] >= 1.95 * np.sqrt(1 / 50)


def test_a_measured_number_of_rows_widens_both_intervals() -> None:
    known = replace(replicates(2.0, mean=30.0), records=np.array([100.0]))
    noisy = replace(known, records_variance=25.0)
    for is_sampling in (False, True):
        assert noisy.half_widths(0.95, is_sampling=is_sampling) > known.half_widths(0.95, is_sampling=is_sampling)


def test_deconvolution_is_near_the_normal_interval_for_normal_data_and_skew_for_skew_data() -> None:
    """Noise of a quarter of the spread; quantiles of the laws themselves, no randomness."""
    noise = 0.25 * NORMAL[np.argsort(np.sin(np.arange(50)))]
    normal = Replicates(totals=(NORMAL + noise)[None, :], noise=0.0625, reach=1.0)
    down, up = deconvolved(normal, 0, 0.95)
    assert down == pytest.approx(up, abs=0.5) and 1.7 < up < 2.6
    skew = Replicates(totals=(-np.log1p(-(np.arange(50) + 0.5) / 50) + noise)[None, :], noise=0.0625, reach=1.0)
    down, up = deconvolved(skew, 0, 0.95)
    # The law of the replicates has its long tail above, so that the interval has its long side below.
    assert down > 1.5 * up
    # Where the number of rows was fixed, what resampling it added is taken off.
    fixed = replace(skew, records=np.array([4.0]))
    assert deconvolved(fixed, 0, 0.95)[0] < 0.95 * down


@pytest.mark.parametrize("count", [2, 3, 5, 20, 100])
@pytest.mark.parametrize("variance", [0.1, 1.0, 30.0, 1e4, 1e7])
def test_an_error_beside_resampled_influences_is_covered_however_few_replicates(count: int, variance: float) -> None:
    """A binomial test at .0005 does not reject 93.5 %, with the coverage of each interval averaged instead of drawn."""
    rng, runs, error = np.random.default_rng([count, int(variance * 10)]), 1500, 0.2
    totals = rng.normal(0.0, np.sqrt(1 + variance), (runs, count))
    half = Replicates(totals=totals, noise=1.0, reach=1.0).beside(0.95, np.full(runs, error))
    covered = 2 * norm.cdf(half / np.sqrt(variance + error)) - 1
    assert covered.mean() > 0.935 - 3.3 * np.sqrt(0.935 * 0.065 / runs)
    assert np.allclose(
        Replicates(totals=2 * totals, noise=4.0, reach=1.0).beside(0.95, np.full(runs, 4 * error)), 2 * half
    )
