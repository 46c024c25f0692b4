"""Losses of noisy bootstrap totals with multiplicities as if published: where nothing sharper is proved.

Let a unit own up to c rows, each with a hidden multiplicity of its own. Tell the multiplicities of these rows as well:
that gives away more, and given them the rest of the resample has the same law in both data sets. Then c rows of one
cell move its total by at most K * reach with K ~ Poisson(c), known to everybody, and the pair

    ((K, N(K reach, s2)), (K, N(0, s2)))

dominates: a smaller shift of noise whose loss is monotone is worse on no half-line, mixtures over what is published
keep the order, and rows in several cells give the product of such pairs, one for each cell. Under replace, tell the
multiplicities of the rows of both units, each drawn in both data sets whether it is used or not: twice as many rows.
Nothing is asked of the noise, of signs, of centring or of angles. The pair is its own mirror image, so that one order
is enough.

References
    Joint convexity of hockey-stick divergences; Wang, Cheng & Awan (2022) for the mixture.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, sqrt

import numpy as np

from dalenius.core.law import FloatArray
from dalenius.exact.resampled_loss import ONE_COPY, TAIL, MixturePair

# A shift of so many standard deviations is counted as telling everything.
_FAR = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPair:
    """The pair of `rows` rows in one cell, each of at most `reach`, their multiplicities known."""

    reach: Fraction
    sigma_squared: Fraction
    rows: int

    def shifts(self) -> tuple[float, float]:
        """The shift of one Gaussian total of the same root mean square, in standard deviations."""
        return float(self.reach) / sqrt(float(self.sigma_squared)) * sqrt(self.rows + self.rows**2), 0.0

    def masses(self, unit: Fraction) -> tuple[int, FloatArray, float]:
        """First grid point, masses of the mixture over K, and what counts as unbounded: all K beyond the last."""
        weights, rest = poisson_head(self.rows)
        parts = [(0, weights[0] * np.ones(1))]
        unbounded = rest
        one = float(self.reach) / sqrt(float(self.sigma_squared))
        for k, weight in enumerate(weights[1:], 1):
            if k * one > _FAR:
                unbounded += weight
                continue
            shifted = MixturePair(
                up=k * self.reach, down=Fraction(0), sigma_squared=self.sigma_squared, weights=ONE_COPY
            )
            first, masses, left_out = shifted.masses(unit)
            parts.append((first, weight * masses))
            unbounded += weight * left_out
        start = min(first for first, _ in parts)
        whole = np.zeros(max(first + len(masses) for first, masses in parts) - start)
        for first, masses in parts:
            whole[first - start : first - start + len(masses)] += masses
        return start, whole, unbounded


@lru_cache(maxsize=64)
def poisson_head(rate: int) -> tuple[tuple[float, ...], float]:
    """Probabilities of Poisson(rate) from zero on, and a bound of the rest, which counts as nothing."""
    weights = [exp(-rate)]
    while len(weights) <= 2 * rate or weights[-1] > TAIL / 4:
        weights.append(weights[-1] * rate / len(weights))
    # From twice the rate on each probability is less than half of the one before.
    return tuple(weights), 2 * weights[-1]
