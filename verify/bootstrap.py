"""Coverage of bootstrap intervals on simulated populations, with Poisson replicates and normal noise of a chosen size.

Claim. Nominal 95 %, means and proportions with a public number of rows. With v the sampling variance of the estimate and sigma^2 the
noise variance of the mean of the replicates, k = 25, 50, 100, 200 replicates and every v / sigma^2 below: the default interval covers
94 to 97 % where v / sigma^2 is 0.3 or more, and 93.5 to 97 % below, for ages, for amounts most of which are small, for values that are all
at the declared bounds and for proportions. Means whose squares are not measured keep the lower limits and have no upper one: there the spread of the replicates does not
tell v from its largest possible value, and `shortest` is how long an interval must be that covers 94 % at v and at the largest v that
the bounds allow, if it may look at nothing else. A claim fails where a binomial test at 0.0005 says so. The coverage of the three published
intervals and all lengths are printed beside it; `dalenius reproduce bi.coverage` compares with the paper's.

Estimates from sums have replicates of how far rows move them, and an error of their own noise beside: with 2 to 200 replicates, sigma^2 the
noise variance of one replicate, v / sigma^2 from 0.01 to 10^6 and that error 0.01 or 1 times sigma^2, 93.5 % are covered, without an upper limit.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dalenius.algebra.replicates import Replicates
from dalenius.core.law import FloatArray
from dalenius.exact.resampling_price import ResamplingPrice
from dalenius.measurements.resampled_totals import SQUARES, beside

ROWS, REACH = 500, 50
# The plan's own share for squares.
SHARE = Fraction(1, 10)
RATIOS = (0.02, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
RUNS = {25: 10_000, 50: 10_000, 100: 2_000, 200: 2_000}


@dataclass(frozen=True)
class Population:
    """What rows add about the midpoint of the declared bounds, -50 to 50."""

    name: str
    draw: Callable[[np.random.Generator], FloatArray]
    mean: float
    variance: float
    is_even: bool = False
    has_squares: bool = False
    replicates: tuple[int, ...] = tuple(RUNS)


def _ages(rng: np.random.Generator) -> FloatArray:
    return np.asarray(100 * rng.beta(1.6, 2.2, ROWS) - 50)


def _amounts(rng: np.random.Generator) -> FloatArray:
    return np.asarray(100 * rng.beta(0.5, 6.0, ROWS) - 50)


def _at_the_bounds(rng: np.random.Generator) -> FloatArray:
    return np.where(rng.random(ROWS) < 0.4, 50.0, -50.0)


def _beta(name: str, draw: Callable[[np.random.Generator], FloatArray], a: float, b: float, **more: Any) -> Population:
    """A beta law over the bounds, rounded to whole numbers."""
    variance = 10_000 * a * b / ((a + b) ** 2 * (a + b + 1)) + 1 / 12
    return Population(name, draw, 100 * a / (a + b) - 50, variance, **more)


POPULATIONS = (
    _beta("ages", _ages, 1.6, 2.2, has_squares=True),
    _beta("amounts", _amounts, 0.5, 6.0, has_squares=True, replicates=(25,)),
    Population("values at the bounds", _at_the_bounds, -10.0, 2_400.0, has_squares=True),
    Population("proportion", _at_the_bounds, -10.0, 2_400.0, is_even=True),
    _beta("ages, no squares", _ages, 1.6, 2.2, replicates=(25, 50)),
    Population("values at the bounds, no squares", _at_the_bounds, -10.0, 2_400.0, replicates=(25, 50)),
)


def resampled(population: Population, k: int, runs: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Totals of Poisson resamples, one sample of rows to a run, and the sums of squares of the samples; both without noise."""
    totals, squares = np.empty((runs, k)), np.empty(runs)
    for i in range(runs):
        # The multiplicities of each distinct value together are Poisson with its count.
        values, counts = np.unique(np.rint(population.draw(rng)), return_counts=True)
        totals[i] = rng.poisson(counts, size=(k, len(counts))) @ values
        squares[i] = counts @ values**2
    return totals, squares


def coverage(
    population: Population, totals: FloatArray, squares: FloatArray, ratio: float, rng: np.random.Generator
) -> dict[str, float]:
    """Of the default interval, with its mean length over that with a known variance; and of the published three."""
    runs, k = totals.shape
    sampling = ROWS * population.variance
    noise = k * sampling / ratio
    price = ResamplingPrice(
        reach=REACH,
        sigma_squared=Fraction(noise),
        replicates=k,
        is_replace=True,
        beside=beside((SQUARES,), REACH, SHARE),
    )
    error = float(price.variances[0])
    plain = Replicates(
        totals=totals + sqrt(noise) * rng.standard_normal(totals.shape),
        noise=noise,
        reach=float(REACH),
        records=np.full(runs, float(ROWS)),
    )
    made = replace(
        plain,
        is_even=population.is_even,
        squares=squares + sqrt(error) * rng.standard_normal(runs) if population.has_squares else None,
        squares_variance=error,
    )
    off = np.abs(made.bagged - ROWS * population.mean)
    half = made.half_widths(0.95, is_sampling=True)
    known = 1.959964 * sqrt(sampling + noise / k)
    three = {
        kind: float((off <= 1.959964 * np.sqrt(plain.sampling(kind) + noise / k)).mean())
        for kind in ("unbiased", "conservative", "most_conservative")
    }
    return {"calibrated": float((off <= half).mean()), "length": float(half.mean() / known), **three}


def shortest(k: int, ratio: float, largest: float, least: float = 0.94) -> float:
    """A lower bound of the mean length at v / sigma^2 = `ratio` of every interval mean +- h(spread) that covers `least` there and at
    `largest`, over the length with a known variance: by duality, at every price of the two coverages; the best price is searched."""
    from scipy.optimize import minimize
    from scipy.special import ndtr
    from scipy.stats import chi2

    ends = np.concatenate([[0.0], np.geomspace(0.1, 8, 160), [np.inf]]) * (k - 1)
    half = np.linspace(0, 5 * sqrt(1 + largest), 240)
    here, there = (np.diff(chi2.cdf(ends / (1 + v / k), k - 1))[:, None] for v in (ratio, largest))
    covers, covers_there = (2 * ndtr(half / sqrt(1 + v)) - 1 for v in (ratio, largest))

    def dual(prices: FloatArray) -> float:
        first, second = np.abs(prices)
        loss = here * (half - first * covers) - second * there * covers_there
        return -float(loss.min(axis=1).sum() + least * (first + second))

    starts = ((1.0, 1.0), (5.0, 20.0), (0.1, 30.0))
    found = min(float(minimize(dual, start, method="Nelder-Mead").fun) for start in starts)
    return -found / (1.959964 * sqrt(1 + ratio))


def _is_off(coverage: float, runs: int, least: float, most: float) -> str | None:
    hits = round(coverage * runs)
    if binomtest(hits, runs, least, alternative="less").pvalue < 0.0005:
        return "covers too little"
    if binomtest(hits, runs, most, alternative="greater").pvalue < 0.0005:
        return "covers too much"
    return None


def influences(k: int, ratio: float, error: float, runs: int) -> float:
    """Coverage of an estimate with so much noise beside what is resampled, which has variance `ratio`."""
    rng = np.random.default_rng([k, int(1000 * ratio), int(1000 * error)])
    totals = rng.normal(0.0, sqrt(1 + ratio), (runs, k))
    half = Replicates(totals=totals, noise=1.0, reach=1.0).beside(0.95, np.full(runs, error))
    return float(np.mean(np.abs(rng.normal(0.0, sqrt(ratio + error), runs)) <= half))


def run(*, quick: bool = False) -> dict[str, Any]:
    """Every setting; whether the claim held in all."""
    cells, failed = [], []
    for k, many in RUNS.items():
        runs = many // 20 if quick else many
        for place, population in enumerate(POPULATIONS):
            if k not in population.replicates:
                continue
            rng = np.random.default_rng(1000 * k + place)
            totals, squares = resampled(population, k, runs, rng)
            for ratio in RATIOS:
                figures = coverage(population, totals, squares, ratio, rng)
                name = f"{population.name}, k = {k}, v / sigma^2 = {ratio}"
                cells.append({"setting": name, "runs": runs, **{key: round(x, 4) for key, x in figures.items()}})
                least = 0.94 if ratio >= 0.3 else 0.935
                is_default = population.has_squares or population.is_even
                problem = _is_off(figures["calibrated"], runs, least, 0.97 if is_default else 1.0)
                failed += [f"{name}: {problem}"] if problem else []
    beside_noise = []
    for k, ratio, error in product((2, 3, 5, 10, 25, 50, 200), (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 1e3, 1e6), (0.01, 1.0)):
        runs = 500 if quick else 5_000
        covered = influences(k, ratio, error, runs)
        name = f"influences, k = {k}, v / sigma^2 = {ratio:g}, noise {error:g}"
        beside_noise.append({"setting": name, "runs": runs, "coverage": round(covered, 4)})
        problem = _is_off(covered, runs, 0.935, 1.0)
        failed += [f"{name}: {problem}"] if problem else []
    # Without squares: ages may vary 4.8 times as much within their bounds.
    bounds = {
        f"k = {k}, v / sigma^2 = {ratio}": round(shortest(k, ratio, 4.8 * ratio), 3)
        for k in (25, 50)
        for ratio in (0.3, 1.0, 3.0, 10.0)
    }
    return {"ok": not failed, "failed": failed, "shortest": bounds, "settings": cells, "influences": beside_noise}
