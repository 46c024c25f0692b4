"""Loss distributions of one noisy total over a resampled file: mixtures of shifted normal noise against each other.

In a bootstrap sample each unit counts k times, k hidden and drawn anew for each replicate. What a unit adds to a total
is k times its value, so that two neighbours give sum_k p_k N(k u, s2) and sum_k p_k N(k w, s2), shifted by the same
independent sum of everybody else. With u >= 0 >= w the loss rises along the line.

Claim
    `one_loss(pair, unit)` dominates the pair: its delta(epsilon) is at least the true one at every epsilon, in both
    orders when the pair is reversed. Outputs with a loss between two points of the grid are given to the two points so
    that both laws keep their masses there (Doroshenko et al. 2022); merging the points again is a channel. k is cut
    where less than `TAIL` is left, which is counted as an unbounded loss, as is everything beyond the last point.
Rounding
    Masses are floats, right to a relative 1e-13; the part of each that moves to the upper point is raised by `_LIFT` of
    the mass, ten times the error that this leaves on a grid of a hundredth, and every mass is rounded up. Noise on
    integers that is too wide to be listed is integrated between half integers, with the first correction of the
    midpoint rule.
Published multiplicities, where nothing sharper is proved (`PublishedPair`)
    Let a unit own up to c rows, each with a hidden multiplicity of its own. Tell the multiplicities of these rows as
    well: that gives away more, and given them the rest of the resample has the same law in both data sets. Then c rows
    of one cell move its total by at most K * reach with K ~ Poisson(c), known to everybody, and the pair

        ((K, N(K reach, s2)), (K, N(0, s2)))

    dominates: a smaller shift of noise whose loss is monotone is worse on no half-line, mixtures over what is published
    keep the order, and rows in several cells give the product of such pairs, one for each cell. Under replace, tell the
    multiplicities of the rows of both units, each drawn in both data sets whether it is used or not: twice as many
    rows. Nothing is asked of the noise, of signs, of centring or of angles. The pair is its own mirror image, so that
    one order is enough.
References
    Joint convexity of hockey-stick divergences; Doroshenko, Ghazi, Kamath, Kumar & Manurangsi (2022); Wang, Cheng &
    Awan (2022) for the mixture.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, factorial, floor, log1p, pi, sqrt
from typing import Protocol

import numpy as np

from dalenius import limits
from dalenius.core.law import FloatArray
from dalenius.errors import ParameterError
from dalenius.exact.loss import BITS, LossDistribution

TAIL = 2.0**-66
# The weights of one row that counts once.
ONE_COPY = (0.0, 1.0)
_LISTED = 4000.0
_LEFT = 10.0
_LIFT = 1e-10
_ROUNDED = 10**12
MOST_COPIES = 24
_MESH = 4000
# A shift of so many standard deviations is counted as telling everything.
_FAR = 30.0


@lru_cache(maxsize=1)
def poisson_weights() -> tuple[float, ...]:
    """How often a unit counts when its multiplicity is Poisson with mean one."""
    return tuple(exp(-1) / factorial(k) for k in range(MOST_COPIES))


@dataclass(frozen=True, slots=True, kw_only=True)
class MixturePair:
    """(sum_k p_k N(k up, s2), sum_k p_k N(k down, s2)) with up >= 0 >= down, on the integers or on the line."""

    up: Fraction
    down: Fraction
    sigma_squared: Fraction
    weights: tuple[float, ...]
    is_discrete: bool = True

    def __post_init__(self) -> None:
        if not self.down <= 0 <= self.up or self.up == self.down:
            raise ParameterError("The first law is shifted upwards and the second downwards.")

    @property
    def reversed(self) -> "MixturePair":
        """The same two laws in the other order, mirrored."""
        return replace(self, up=-self.down, down=-self.up)

    @property
    def sigma(self) -> float:
        return sqrt(float(self.sigma_squared))

    def shifts(self) -> tuple[float, float]:
        return float(self.up) / self.sigma, float(self.down) / self.sigma

    def log_ratios(self, y: FloatArray, shift: float) -> tuple[FloatArray, FloatArray]:
        """log of sum_k p_k N(k shift, 1) / N(0, 1) at y, and its slope."""
        weights = np.array(self.weights)
        k = np.flatnonzero(weights).astype(np.float64)
        exponents = k * shift * y[:, None] - (k * shift) ** 2 / 2
        top = exponents.max(axis=1, keepdims=True)
        terms = weights[weights > 0] * np.exp(exponents - top)
        total = terms.sum(axis=1)
        return np.log(total) + top[:, 0], shift * (terms @ k) / total

    def losses(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The loss at y, in standard deviations, and its slope."""
        a, b = self.shifts()
        (first, rise), (second, fall) = self.log_ratios(y, a), self.log_ratios(y, b)
        return first - second, rise - fall

    def bottom(self) -> float:
        """Below this, in standard deviations, next to nothing of either law is left."""
        return max(_LEFT, self.reversed.top()[0]) if self.down else _LEFT

    def top(self) -> tuple[float, float]:
        """Where less than `TAIL` of the first law is left, in standard deviations, and the mass left out."""
        from scipy.special import ndtr

        a, high = self.shifts()[0], 8.0
        k, p = np.arange(len(self.weights)), np.array(self.weights)
        while float(p @ ndtr(k * a - high)) > TAIL:
            high *= 1.02
        return high, max(1.0 - float(p.sum()), 0.0)

    def masses(self, unit: Fraction) -> tuple[int, FloatArray, float]:
        h = float(unit)
        high, left_out = self.top()
        is_listed = self.is_discrete and self.sigma <= _LISTED
        first, p, q = _listed(self, high, h) if is_listed else _integrated(self, high, h)
        least = h * np.arange(first, first + len(p))
        with np.errstate(divide="ignore", over="ignore"):
            share = (p - np.exp(np.log(q) + least)) / -expm1(-h) + _LIFT * p
        share = np.clip(share, 0.0, p)
        return first, np.append(p - share, 0.0) + np.append(0.0, share), max(left_out, 2 * TAIL)


class LossPair(Hashable, Protocol):
    """Two laws of one noisy total, as a loss on a grid."""

    def shifts(self) -> tuple[float, float]:
        """Both shifts of one copy, in standard deviations."""

    def masses(self, unit: Fraction) -> tuple[int, FloatArray, float]:
        """First point of the grid, masses in floats, and what is counted as unbounded."""


@lru_cache(maxsize=64)
def one_loss(pair: LossPair, unit: Fraction) -> LossDistribution:
    """The loss of one replicate on the grid of a unit; never below the truth."""
    first, masses, left_out = pair.masses(unit)
    return listed_loss(unit, first, masses, left_out)


def listed_loss(unit: Fraction, first: int, masses: FloatArray, left_out: float) -> LossDistribution:
    """The distribution of masses in floats, each rounded up by more than a float can be wrong."""
    scale = 1 << BITS
    raised = scale * (_ROUNDED + 1)
    parts = (mass.as_integer_ratio() for mass in masses.tolist())
    # In integers: fractions would be reduced at every step.
    whole = tuple(top * raised // (bottom * _ROUNDED) + 1 for top, bottom in parts)
    infinite = max(scale - sum(whole), int(Fraction(left_out) * scale))
    return LossDistribution(unit, first, whole, infinite)


def _listed(pair: MixturePair, high: float, h: float) -> tuple[int, FloatArray, FloatArray]:
    """Masses of both laws between neighbouring points of the grid, by the sum over all integers there."""
    sigma = pair.sigma
    y = np.arange(floor(-pair.bottom() * sigma), ceil(high * sigma) + 1, dtype=np.float64) / sigma
    reach = np.arange(1, ceil(_LEFT * sigma) + 2, dtype=np.float64) / sigma
    base = -y * y / 2 - log1p(2 * float(np.exp(-reach * reach / 2).sum()))
    p, q = (_by_parts(pair, y, shift) + base for shift in pair.shifts())
    places = np.maximum.accumulate(np.floor((p - q) / h).astype(np.int64))
    first = int(places[0])
    above, below = (np.asarray(np.bincount(places - first, weights=np.exp(w)), dtype=np.float64) for w in (p, q))
    return first, above, below


def _by_parts(pair: MixturePair, y: FloatArray, shift: float) -> FloatArray:
    return np.concatenate([pair.log_ratios(y[i : i + _MESH], shift)[0] for i in range(0, len(y), _MESH)])


def _integrated(pair: MixturePair, high: float, h: float) -> tuple[int, FloatArray, FloatArray]:
    """The same by integrals between points where the loss crosses the grid; half integers for integer noise."""
    left = -pair.bottom()
    mesh = np.linspace(left, high, _MESH)
    loss = np.maximum.accumulate(pair.losses(mesh)[0])
    first, last = floor(loss[0] / h), ceil(loss[-1] / h)
    grid = h * np.arange(first + 1, last + 1)
    ends = np.interp(grid, loss, mesh)
    for _ in range(3):
        at, slope = pair.losses(ends)
        ends = np.clip(ends - (at - grid) / np.maximum(slope, 1e-300), left, high)
    ends = np.maximum.accumulate(ends)
    if pair.is_discrete:
        ends = (np.floor(ends * pair.sigma) + 0.5) / pair.sigma
    p, q = (_between(pair, ends, shift) for shift in pair.shifts())
    return first, p, q


def _between(pair: MixturePair, ends: FloatArray, shift: float) -> FloatArray:
    """Mass below the first end and between neighbouring ends; the smaller tail is differenced, so that digits are kept.

    The sum over the integers between two half integers is the integral less a twenty-fourth of the change of the slope
    (the midpoint rule of Euler and Maclaurin); what then is left is of the order of (y / s)^4 / 1000.
    """
    from scipy.special import ndtr

    correction = 1 / (24 * float(pair.sigma_squared)) if pair.is_discrete else 0.0
    mass = np.zeros(len(ends))
    for k, weight in enumerate(pair.weights):
        z = ends - k * shift
        below, above = ndtr(z), ndtr(-z)
        steps = np.where(z[1:] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
        slope = correction * z * np.exp(-z * z / 2) / sqrt(2 * pi)
        mass += weight * np.append(below[0] + slope[0], np.maximum(steps + np.diff(slope), 0.0))
    return mass


def copies_loss(pair: LossPair, replicates: int, unit: Fraction) -> LossDistribution:
    """The loss of so many replicates, each with multiplicities and noise of its own."""
    loss = _copies(pair, replicates, unit)
    limits.spend(len(loss.masses))
    return loss


@lru_cache(maxsize=32)
def _copies(pair: LossPair, replicates: int, unit: Fraction) -> LossDistribution:
    return one_loss(pair, unit).times(replicates)


def grid_unit(pair: LossPair, replicates: int) -> Fraction:
    """A power of two fine enough that the grid adds less than a thousandth to the variance of the whole loss."""
    a, b = pair.shifts()
    mu = (a - b) * sqrt(replicates)
    # Losses of all replicates together reach thirteen standard deviations to either side, and are listed without a
    # coarser grid.
    wanted = mu * max(sqrt(2e-3 / replicates), 26 / 15_000)
    # One replicate with a large shift has losses far beyond those that matter together.
    power = max(floor(-np.log2(min(wanted, 0.05))), 4)
    return Fraction(1, 1 << power)


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
        parts, unbounded = [(0, weights[0] * np.ones(1))], rest
        one = float(self.reach) / sqrt(float(self.sigma_squared))
        for k, weight in enumerate(weights[1:], 1):
            if k * one > _FAR:
                unbounded += weight
                continue
            up, none = k * self.reach, Fraction(0)
            shifted = MixturePair(up=up, down=none, sigma_squared=self.sigma_squared, weights=ONE_COPY)
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
