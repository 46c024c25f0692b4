"""Coins with probability exp(-x) for a rational x, exact (Canonne, Kamath & Steinke 2020, Algorithm 1)."""

from fractions import Fraction

from dalenius.core.randomness import RandomSource, below
from dalenius.errors import ParameterError


def coin(p: Fraction, rng: RandomSource) -> bool:
    """True with probability exactly p."""
    return below(rng, p.denominator) < p.numerator


def coin_exp(x: Fraction, rng: RandomSource) -> bool:
    """True with probability exactly exp(-x), x >= 0."""
    if x < 0:
        raise ParameterError("exp(-x) is a probability only for x >= 0")
    while x > 1:
        if not _coin_exp_unit(Fraction(1), rng):
            return False
        x -= 1
    return _coin_exp_unit(x, rng)


def _coin_exp_unit(x: Fraction, rng: RandomSource) -> bool:
    k = 1
    while coin(x / k, rng):
        k += 1
    return k % 2 == 1


def shuffle(count: int, rng: RandomSource) -> list[int]:
    """A uniform permutation of range(count) (Fisher-Yates)."""
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = below(rng, i + 1)
        order[i], order[j] = order[j], order[i]
    return order
