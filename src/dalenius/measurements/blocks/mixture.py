"""A mixture of two normal laws in one block: rounds of expectation and maximisation from a start by the values.

The start parts the sorted values in the middle. The lower component is the one with the smaller mean, so that blocks
speak of the same one. No component becomes narrower than a twentieth of the whole, below which the likelihood has no
maximum. Sums are exact (`fsum`), so that an estimate is a function of its block's values in any order.

References
    Dempster, Laird & Rubin (1977); Hathaway (1985) for the bound on the deviations.
"""

from dataclasses import dataclass
from math import exp, fsum, log, nan, sqrt

import numpy as np

from dalenius.core.law import IntArray

_ROUNDS = 60
_LEAST, _NARROWEST = 4, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Two components, the one with the smaller mean first; `share` is that of the second."""

    means: tuple[float, float]
    variances: tuple[float, float]
    share: float

    def ordered(self) -> "Mixture":
        if self.means[0] <= self.means[1]:
            return self
        (a, b), (v, w) = self.means, self.variances
        return Mixture(means=(b, a), variances=(w, v), share=1 - self.share)


def fitted(values: IntArray) -> Mixture | None:
    """In steps of the values; None for fewer than four values, or values that are all alike."""
    if len(values) < _LEAST:
        return None
    points, times = np.unique(values, return_counts=True)
    xs, ts = [float(x) for x in points.tolist()], times.tolist()
    _, _, whole = _moments(xs, ts)
    if not whole > 0:
        return None
    floor = whole / _NARROWEST**2
    now = _start(np.sort(values), floor)
    for _ in range(_ROUNDS):
        upper = _belonging(xs, now)
        parts = []
        for shares in ([1 - u for u in upper], upper):
            count, mean, variance = _moments(xs, [t * u for t, u in zip(ts, shares, strict=True)])
            if not count > 0:
                return now.ordered()
            parts.append((count, mean, max(variance, floor)))
        (_, first, v), (count, second, w) = parts
        now = Mixture(means=(first, second), variances=(v, w), share=count / len(values))
    return now.ordered()


def _start(ordered: IntArray, floor: float) -> Mixture:
    half = len(ordered) // 2
    parts = [_moments([float(x) for x in part.tolist()], [1] * len(part)) for part in (ordered[:half], ordered[half:])]
    (_, first, v), (_, second, w) = parts
    return Mixture(means=(first, second), variances=(max(v, floor), max(w, floor)), share=0.5)


def _belonging(xs: list[float], mixture: Mixture) -> list[float]:
    """The chance of each value to be of the second component."""
    (a, b), (v, w) = mixture.means, mixture.variances
    if not 0 < mixture.share < 1:
        return [mixture.share] * len(xs)
    base = log((1 - mixture.share) / mixture.share) + log(w / v) / 2
    gaps = (base - (x - a) ** 2 / (2 * v) + (x - b) ** 2 / (2 * w) for x in xs)
    return [1 / (1 + exp(gap)) if gap < 700 else 0.0 for gap in gaps]


def _moments(xs: list[float], weights: list[int] | list[float]) -> tuple[float, float, float]:
    count = fsum(weights)
    if not count > 0:
        return 0.0, nan, nan
    mean = fsum(w * x for w, x in zip(weights, xs, strict=True)) / count
    return count, mean, fsum(w * (x - mean) ** 2 for w, x in zip(weights, xs, strict=True)) / count


def mean(values: IntArray, unit: float, component: int) -> float:
    mixture = fitted(values)
    return nan if mixture is None else mixture.means[component] * unit


def deviation(values: IntArray, unit: float, component: int) -> float:
    mixture = fitted(values)
    return nan if mixture is None else sqrt(mixture.variances[component]) * unit


def share(values: IntArray, unit: float) -> float:
    mixture = fitted(values)
    return nan if mixture is None else mixture.share
