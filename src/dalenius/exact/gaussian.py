"""Discrete Gaussian weights, losses and draws at any width, in integers."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np

from dalenius.core.law import FloatArray, IntArray, WeightTable
from dalenius.core.randomness import RandomSource, words
from dalenius.core.rationals import Enclosure, exp_enclosure, exp_enclosure_of
from dalenius.errors import TooLarge
from dalenius.exact.enclosures import squared_walk
from dalenius.exact.loss import BITS, LossDistribution
from dalenius.exact.loss_estimate import LossEstimate
from dalenius.exact.sampling import CHUNK
from dalenius.exact.wide_sampling import TwoSidedGeometric

_PI_LOWER = Fraction(314159265358979323846264338327950288, 10**35)
_RANGES = 1 << 13
_REACH = 12
_SPARE = 96


# Proposals of one scale serve every law with this scale.
_proposal = lru_cache(maxsize=256)(TwoSidedGeometric)


def weights(sigma_squared: Fraction, bits: int) -> WeightTable:
    """exp(-x^2 / (2 sigma_squared)), until less than a unit is left outside."""
    if bits * sigma_squared > 1 << 44:
        raise TooLarge("The law is too wide for a table of weights.")
    guard = 64 + 3 * (int(sigma_squared) + 2).bit_length()
    work = bits + guard
    ratio, change = exp_enclosure(-1 / (2 * sigma_squared), work), exp_enclosure(-1 / sigma_squared, work)
    lower: list[int] = []
    upper: list[int] = []
    twice = int(2 * sigma_squared)
    for low, high in squared_walk((1 << work, 1 << work), ratio, change, work):
        # Beyond x the weights fall faster than geometrically: their sum is at most w(x) (1 + 2 s2 / (2 x + 1)).
        if high * (1 + twice // (2 * len(lower) + 1) + 1) >> guard <= 0:
            break
        lower.append(low >> guard)
        upper.append(-(-high >> guard))
    return WeightTable(bits, 1 - len(lower), lower[:0:-1] + lower, upper[:0:-1] + upper, 1, 1)


def wide_sf(sigma_squared: float, k: IntArray) -> FloatArray:
    """P(noise > k) for a wide law: the normal tail at k + 1/2 with two Euler-Maclaurin corrections."""
    from scipy.special import ndtr

    sigma = np.sqrt(sigma_squared)
    z = (np.asarray(k, dtype=np.float64) + 0.5) / sigma
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) / sigma
    first, third = -z * density / sigma, (3 * z - z**3) * density / sigma**3
    return np.asarray(np.clip(ndtr(-z) + first / 24 - 7 * third / 5760, 0.0, 1.0), dtype=np.float64)


def coarse_loss(sigma_squared: Fraction, size: int) -> LossDistribution:
    """A loss distribution that dominates the one of (noise, noise + size), for a law too wide to be listed.

    The integers are cut into ranges. A range takes the largest loss in it, and its mass is bounded through the first
    weight and the first ratio, since the weights fall faster than geometrically. The total is at least
    sqrt(2 pi sigma_squared), by Poisson summation.
    """
    width, count, unit, offset = _ranges(sigma_squared, size)
    scale = 1 << BITS
    total = isqrt(int(2 * _PI_LOWER * sigma_squared * (1 << 128))) << (BITS - 64)
    masses = [0] * (2 * count)
    for i, (right, left) in enumerate(_range_masses(sigma_squared, width, count)):
        masses[count + i] = right
        masses[count - 1 - i] = left
    beyond = 2 * _tail_mass(sigma_squared, count * width)
    bounded = tuple(-(-m * scale // total) for m in masses)
    # masses[j] lies at x = (j - count) width, so its loss is offset - (j - count), largest for the smallest x.
    return LossDistribution(unit, offset - count + 1, bounded[::-1], min(-(-beyond * scale // total), scale))


def _ranges(sigma_squared: Fraction, size: int) -> tuple[int, int, Fraction, int]:
    """The width of the ranges, their number on either side, the unit of losses, and the loss at zero in units.

    loss(x) = (size^2 - 2 x size) / (2 sigma_squared) falls in x: a range is charged at its smallest x.
    """
    sigma = isqrt(int(sigma_squared)) + 1
    width = max(2 * _REACH * sigma // _RANGES, 1)
    unit = size * width / sigma_squared
    return width, _REACH * sigma // width + 1, unit, -(-size * size // (2 * sigma_squared * unit))


def coarse_estimate(sigma_squared: Fraction, size: int) -> LossEstimate:
    width, count, unit, offset = _ranges(sigma_squared, size)
    s2 = float(sigma_squared)
    sides = []
    for shift in (0, 1):
        x = shift + width * np.arange(count, dtype=np.float64)
        rate = (2 * x + 1) / (2 * s2)
        sums = np.minimum(np.expm1(-rate * width) / np.expm1(-rate), width)
        sides.append(np.exp(-x * x / (2 * s2)) * sums)
    start = count * width
    beyond = 2 * np.exp(-(float(start) ** 2) / (2 * s2)) * (2 + int(2 * sigma_squared) // (2 * start + 1))
    masses = np.concatenate([sides[1][::-1], sides[0]])[::-1] / np.sqrt(2 * np.pi * s2)
    return LossEstimate(unit, offset - count + 1, masses, float(beyond / np.sqrt(2 * np.pi * s2)))


def _range_masses(sigma_squared: Fraction, width: int, count: int) -> Iterator[tuple[int, int]]:
    """Upper bounds of sums of 2**BITS w(x) over [i width, (i+1) width), and the mirror of (i width, (i+1) width]."""
    work = BITS + 160
    one = 1 << work
    starts = [_Walk(sigma_squared, width, shift, work) for shift in (0, 1)]
    for _ in range(count):
        pair = [-(-walk.bound(width, one) >> (work - BITS)) for walk in starts]
        for walk in starts:
            walk.step()
        yield pair[0], pair[1]


class _Walk:
    """w(x), exp(-(2 x + 1) / (2 s2)) at x = shift, shift + width, …: upper enclosures; lower of the decay's power."""

    def __init__(self, s2: Fraction, width: int, shift: int, work: int) -> None:
        self._work = work
        self._weight = exp_enclosure(-Fraction(shift * shift) / (2 * s2), work)[1]
        # w(x + width) = w(x) exp(-(2 x width + width^2) / (2 s2)).
        self._ratio = exp_enclosure(-Fraction(2 * shift * width + width * width) / (2 * s2), work)[1]
        self._ratio_step = exp_enclosure(-Fraction(width * width) / s2, work)[1]
        self._decay = exp_enclosure(-Fraction(2 * shift + 1) / (2 * s2), work)[1]
        self._decay_step = exp_enclosure(-Fraction(width) / s2, work)[1]
        self._power = exp_enclosure(-Fraction((2 * shift + 1) * width) / (2 * s2), work)[0]
        self._power_step = exp_enclosure(-Fraction(width * width) / s2, work)[0]

    def bound(self, width: int, one: int) -> int:
        """The weight here, times the geometric sum that the next weights stay below."""
        return min(-(-self._weight * (one - self._power) // (one - self._decay)), self._weight * width)

    def step(self) -> None:
        work = self._work
        self._weight = -(-self._weight * self._ratio >> work)
        self._ratio = -(-self._ratio * self._ratio_step >> work)
        self._decay = -(-self._decay * self._decay_step >> work)
        self._power = self._power * self._power_step >> work


def _tail_mass(sigma_squared: Fraction, start: int) -> int:
    """Upper bound of the sum of 2**BITS w(x) over x >= start > 0."""
    first = exp_enclosure(-Fraction(start * start) / (2 * sigma_squared), BITS)[1]
    return first * (2 + int(2 * sigma_squared) // (2 * start + 1))


class RejectionSampler:
    """P(x) proportional to exp(-x^2 / (2 s2)) by rejection from a two-sided geometric of scale t = floor(sigma) + 1.

    A proposal y is kept with probability f(|y|) = exp(-(|y| - s2 / t)^2 / (2 s2)). Between the ends of a range of width
    w the chord is within w^2 / (8 s2) of f, because |f''| <= 1 / s2; a uniform farther from the chord than that is
    decided by integers alone, and the few others are compared with the exact number, refined as far as needed.
    """

    def __init__(self, sigma_squared: Fraction) -> None:
        self._s2 = sigma_squared
        self._scale = isqrt(int(sigma_squared)) + 1
        self._low_bits = max(self._scale.bit_length() - 7, 0)
        self._proposal = _proposal(Fraction(1, self._scale), self._low_bits)
        width = self._proposal.width
        self._ranges = _REACH * (self._scale >> self._low_bits)
        self._start = np.array(self._ends(width), dtype=np.int64)
        self._rise = np.append(np.diff(self._start), 0)
        # Two units cover the rounding of the ends, one that of the chord.
        self._error = int((Fraction(width * width) / (8 * sigma_squared)) * 2**32) + 4
        self._most = np.maximum(self._start, self._start + self._rise) + self._error
        # Beyond the last range nothing is known, and the exact comparison decides.
        self._most[-1] = 2**32

    def _exponent(self, distance: int) -> Fraction:
        return (distance - self._s2 / self._scale) ** 2 / (2 * self._s2)

    def _ends(self, width: int) -> list[int]:
        """What is kept at the ends of the ranges, in whole units of 2**-32, by two multiplications for each end."""
        s2, work, spare = self._s2, 32 + _SPARE, _SPARE
        mean = s2 / self._scale
        first = exp_enclosure(-(mean * mean) / (2 * s2), work)
        ratio = exp_enclosure((2 * mean * width - width * width) / (2 * s2), work)
        walk = squared_walk(first, ratio, exp_enclosure(-Fraction(width * width) / s2, work), work)
        return [
            low >> spare if low >> spare == high >> spare else self._kept(i * width)[0]
            for i, (low, high) in zip(range(self._ranges + 1), walk, strict=False)
        ]

    def _kept(self, distance: int) -> Enclosure:
        """exp(-exponent) at a distance, in units of 2**-32; in integers, because there are thousands of distances."""
        n, d = self._s2.numerator, self._s2.denominator
        return exp_enclosure_of(-((distance * self._scale * d - n) ** 2), 2 * n * self._scale**2 * d, 32)

    def draw(self, size: int, rng: RandomSource) -> IntArray:
        """So many independent draws; the number of proposals depends on the noise alone."""
        out = np.empty(size, dtype=np.int64)
        done = 0
        while done < size:
            kept = self._round(min(size - done + (size - done) // 2 + 64, CHUNK), rng)[: size - done]
            out[done : done + len(kept)] = kept
            done += len(kept)
        return out

    def _round(self, count: int, rng: RandomSource) -> IntArray:
        """Propose so many, return those that are kept."""
        leading = self._proposal.leading.draw(count, rng)
        word = words(rng, count, np.uint32).astype(np.int64)
        index = np.minimum(leading ^ (leading >> 63), self._ranges)
        possible = np.flatnonzero(word <= self._most[index])
        leading, word, index = leading[possible], word[possible], index[possible]
        proposed: IntArray = self._proposal.completed(leading, rng)
        place = np.abs(proposed) - (index << self._low_bits)
        # Beyond the table the place has no meaning, and no chord is used.
        bits_read = index < self._ranges
        chord = self._start[index] + (self._rise[index] * np.where(bits_read, place, 0) >> self._low_bits)
        keep = word < chord - self._error
        for i in np.flatnonzero((np.abs(word - chord) <= self._error) | ~bits_read):
            keep[i] = self._decide(int(word[i]), abs(int(proposed[i])), rng)
        kept: IntArray = proposed[keep]
        return kept

    def _decide(self, word: int, distance: int, rng: RandomSource) -> bool:
        """Whether the uniform that starts with this word lies below the exact probability."""
        exponent, bits_read = self._exponent(distance), 32
        while True:
            low, high = exp_enclosure(-exponent, bits_read + 32)
            if (word + 1) << 32 <= low:
                return True
            if word << 32 >= high:
                return False
            word, bits_read = (word << 64) | int.from_bytes(rng.bytes(8), "big"), bits_read + 64
