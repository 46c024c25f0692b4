"""Exact tests for one binomial proportion behind a noisy count: docs/reference/inference/tests.md.

Released values of probability below 1e-18 under the hypothesis are not ordered one by one: all count against it.
"""

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from dalenius.core.estimate import TestResult
from dalenius.core.law import Additive, FloatArray, IntArray
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.inference.channel import impossible
from dalenius.inference.interval import as_noise, binomial_interval, check_among
from dalenius.inference.noise import Noise
from dalenius.inference.simulation import generator

ALTERNATIVES = ("two-sided", "greater", "less")
METHODS = ("likelihood-ratio", "tulap")
MOST_TRIALS = 10_000_000
_NEGLIGIBLE = 1e-18
# How many numbers are held at once while ratios are computed.
_MOST_NUMBERS = 2_000_000


def binomial_test(
    value: int,
    size: int,
    law: Additive | Noise,
    *,
    probability: float = 0.5,
    alternative: str = "two-sided",
    method: str = "likelihood-ratio",
    seed: int = 0,
    confidence: float = 0.95,
) -> TestResult:
    """Test that the proportion is `probability`.

    "likelihood-ratio" orders values by their likelihood ratio (two-sided) or by size (one-sided); "tulap" is the
    randomised test, whose one uniform number comes from `seed`.
    """
    check_among("alternative", alternative, ALTERNATIVES)
    check_among("method", method, METHODS)
    if not 0 <= probability <= 1 or size < 1:
        raise ParameterError("probability must lie in [0, 1] and size must be at least 1.")
    if size > MOST_TRIALS:
        raise TooLarge(
            f"The exact test is for a group of at most {MOST_TRIALS:,}; received {size:,}.",
            received=size,
            limit=MOST_TRIALS,
        )
    if method == "tulap" and isinstance(law, Additive) and law.noise.name != "discrete_laplace":
        raise Unsupported("The randomised test is optimal for discrete Laplace noise only; use likelihood-ratio.")
    noise = as_noise(law)
    first, pmf = released_law(noise, size, probability)
    place = value - first
    if not 0 <= place < len(pmf):
        raise impossible()
    above, below = float(pmf[place + 1 :].sum()), float(pmf[:place].sum())
    ratio = likelihood_ratio(np.array([value]), noise, size, probability)[0]
    if method == "tulap":
        split = float(generator(seed).random())
        greater, less = above + split * pmf[place], below + (1 - split) * pmf[place]
        p_value = {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}[alternative]
        how = "randomised exact (Tulap) test"
    elif alternative == "two-sided":
        likely = np.flatnonzero(pmf > _NEGLIGIBLE)
        every = likelihood_ratio(first + likely, noise, size, probability)
        # Values left out count as further away, so that no p-value is too small.
        left_out = max(float(pmf[pmf <= _NEGLIGIBLE].sum()), 0.0)
        p_value = float(pmf[likely][every >= ratio - 1e-9].sum()) + left_out
        how = "exact law of the likelihood ratio"
    else:
        p_value = (above if alternative == "greater" else below) + float(pmf[place])
        how = "exact law of the released count"
    interval = binomial_interval(value, size, noise, confidence=confidence)
    return TestResult(
        name=f"Binomial proportion equal to {probability:g} ({alternative})",
        statistic=float(ratio),
        p_value=min(float(p_value), 1.0),
        method=how,
        assumptions=(f"Assumes a binomial count of size {size:,} and the published law of the noise.",),
        details={"interval": interval.to_dict(), "value": value, "size": size},
    )


def released_law(noise: Noise, size: int, probability: float) -> tuple[int, FloatArray]:
    """First value and probabilities of Binomial(size, probability) + noise."""
    k = np.arange(size + 1)
    binomial = np.exp(_log_ways(size, k) + xlogy(k, probability) + xlog1py(size - k, -probability))
    return noise.first, np.convolve(binomial, noise.pmf)


def likelihood_ratio(values: IntArray, noise: Noise, size: int, probability: float) -> FloatArray:
    """Twice the log-likelihood ratio of each released value, by EM for the free proportion.

    A value meets only the counts that the noise can have moved there: memory and time do not grow with the size.
    """
    each = max(_MOST_NUMBERS // len(noise.pmf), 1)
    parts = [
        _likelihood_ratio(values[start : start + each], noise, size, probability)
        for start in range(0, len(values), each)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _likelihood_ratio(values: IntArray, noise: Noise, size: int, probability: float) -> FloatArray:
    counts = values[:, None] - noise.first - np.arange(len(noise.pmf))
    observation = np.where((counts >= 0) & (counts <= size), noise.pmf, 0.0)
    counts = np.clip(counts, 0, size)
    ways = _log_ways(size, counts)

    def chances(p: FloatArray) -> FloatArray:
        return observation * np.exp(ways + xlogy(counts, p[:, None]) + xlog1py(size - counts, -p[:, None]))

    p = np.clip((values - noise.mean) / size, 0.5 / size, 1 - 0.5 / size)
    for _ in range(2000):
        weights = chances(p)
        total = weights.sum(1)
        better = np.clip((weights * counts).sum(1) / np.maximum(total, 1e-300) / size, 0.0, 1.0)
        moved = np.abs(better - p).max(initial=0.0)
        # Steps are doubled where the noise hides most of the information; the maximum is the same.
        p = np.clip(p + 1.9 * (better - p), 0.0, 1.0)
        if moved < 1e-10:
            break
    edges = np.stack([chances(q).sum(1) for q in (p, np.zeros_like(p), np.ones_like(p))])
    best = edges.max(0)
    at_null = chances(np.full(len(values), probability)).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 2 * (np.log(best) - np.log(at_null))
    return np.where(best > 0, np.maximum(ratio, 0.0), 0.0)


def _log_ways(size: int, counts: IntArray) -> FloatArray:
    return np.asarray(gammaln(size + 1.0) - gammaln(counts + 1.0) - gammaln(size - counts + 1.0))
