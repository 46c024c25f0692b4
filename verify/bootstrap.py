"""Coverage of bootstrap intervals on simulated populations, with Poisson replicates and normal noise of a chosen size.

Claim. Nominal 95 %, means and proportions with a public number of rows. With v the sampling variance of the estimate and sigma^2 the
noise variance of the mean of the replicates, k = 25, 50, 100, 200 replicates and every v / sigma^2 below: the calibrated interval
covers at least 94 % where v / sigma^2 is 0.3 or more, and at least 93.5 % below, for ages, for values that are all at the declared
bounds and for proportions. It covers at most 97 % for the last two everywhere, and for ages where v is at least the noise variance of
one replicate (k sigma^2): below that the spread of the replicates does not tell v from its largest possible value, and an interval that
holds there covers more here (docs/explanation/private-bootstrap.md). A claim fails where a binomial test at 0.0005 says so. The coverage
of the three published intervals and all lengths are printed beside it; `dalenius reproduce bi.coverage` compares with the paper's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dalenius.core.law import FloatArray
from dalenius.linear.replicates import Replicates

ROWS = 500
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

    @property
    def is_known(self) -> bool:
        """Whether the largest possible sampling variance is the true one, or nearly."""
        return self.name != "ages"


def _ages(rng: np.random.Generator) -> FloatArray:
    return np.asarray(100 * rng.beta(1.6, 2.2, ROWS) - 50)


def _at_the_bounds(rng: np.random.Generator) -> FloatArray:
    return np.where(rng.random(ROWS) < 0.4, 50.0, -50.0)


POPULATIONS = (
    Population("ages", _ages, 100 * 1.6 / 3.8 - 50, 10_000 * 1.6 * 2.2 / (3.8**2 * 4.8)),
    Population("values at the bounds", _at_the_bounds, -10.0, 2_400.0),
    Population("proportion", _at_the_bounds, -10.0, 2_400.0, is_even=True),
)


def resampled(population: Population, k: int, runs: int, rng: np.random.Generator) -> FloatArray:
    """Totals of Poisson resamples, one sample of rows to a run, without noise."""
    totals = np.empty((runs, k))
    for i in range(runs):
        # The multiplicities of each distinct value together are Poisson with its count.
        values, counts = np.unique(np.rint(population.draw(rng)), return_counts=True)
        totals[i] = rng.poisson(counts, size=(k, len(counts))) @ values
    return totals


def coverage(
    population: Population, totals: FloatArray, ratio: float, rng: np.random.Generator
) -> dict[str, float]:
    """Of the calibrated interval, with its mean length over that with a known variance; and of the published three."""
    runs, k = totals.shape
    sampling = ROWS * population.variance
    noise = k * sampling / ratio
    made = Replicates(
        totals=totals + sqrt(noise) * rng.standard_normal(totals.shape),
        noise=noise,
        reach=50.0,
        records=np.full(runs, float(ROWS)),
        is_even=population.is_even,
    )
    off = np.abs(made.bagged - ROWS * population.mean)
    half = made.half_widths(0.95, is_sampling=True)
    known = 1.959964 * sqrt(sampling + noise / k)
    plain = Replicates(totals=made.totals, noise=noise, reach=50.0, records=made.records)
    three = {
        kind: float((off <= 1.959964 * np.sqrt(plain.sampling(kind) + noise / k)).mean())
        for kind in ("unbiased", "conservative", "most_conservative")
    }
    return {"calibrated": float((off <= half).mean()), "length": float(half.mean() / known), **three}


def _is_off(coverage: float, runs: int, least: float, most: float) -> str | None:
    hits = round(coverage * runs)
    if binomtest(hits, runs, least, alternative="less").pvalue < 0.0005:
        return "covers too little"
    if binomtest(hits, runs, most, alternative="greater").pvalue < 0.0005:
        return "covers too much"
    return None


def run(*, quick: bool = False) -> dict[str, Any]:
    """Every setting; whether the claim held in all."""
    cells, failed = [], []
    for k, many in RUNS.items():
        runs = many // 20 if quick else many
        for place, population in enumerate(POPULATIONS):
            rng = np.random.default_rng(1000 * k + place)
            totals = resampled(population, k, runs, rng)
            for ratio in RATIOS:
                figures = coverage(population, totals, ratio, rng)
                name = f"{population.name}, k = {k}, v / sigma^2 = {ratio}"
                cells.append(
                    {"setting": name, "runs": runs, **{key: round(x, 4) for key, x in figures.items()}}
                )
                least = 0.94 if ratio >= 0.3 else 0.935
                most = 0.97 if population.is_known or ratio >= k else 1.0
                problem = _is_off(figures["calibrated"], runs, least, most)
                failed += [f"{name}: {problem}"] if problem else []
    return {"ok": not failed, "failed": failed, "settings": cells}
