"""Coins of probability p or exp(-x), p and x rational, exact (Canonne, Kamath & Steinke 2020, Algorithm 1)."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import IntArray
from dalenius.core.randomness import RandomSource, below, words
from dalenius.errors import ParameterError

LARGEST_DENOMINATOR = 1 << 32
_CHUNK = 1 << 18


def coin(p: Fraction, rng: RandomSource) -> bool:
    """True with probability exactly p."""
    return below(rng, p.denominator) < p.numerator


def thinned(counts: IntArray, p: Fraction, rng: RandomSource) -> IntArray:
    """How many of so many coins show a head, each with probability exactly p: independent binomial draws.

    Every coin reads one word, and another where the word lies in the last, incomplete run of the denominator.
    """
    if not 0 < p <= 1 or p.denominator > LARGEST_DENOMINATOR:
        raise ParameterError(f"A probability needs a denominator of at most 2**32; received {p}.")
    ends = np.cumsum(counts)
    heads = np.zeros(len(counts), dtype=np.int64)
    for start in range(0, int(ends[-1]) if len(ends) else 0, _CHUNK):
        coins = np.arange(start, min(start + _CHUNK, int(ends[-1])))
        hits = coins[_heads(len(coins), p, rng)]
        np.add.at(heads, np.searchsorted(ends, hits, side="right"), 1)
    return heads


def _heads(count: int, p: Fraction, rng: RandomSource) -> NDArray[np.bool_]:
    whole = np.uint64((2**64 // p.denominator) * p.denominator - 1)
    drawn = words(rng, count).copy()
    while (late := np.flatnonzero(drawn > whole)).size:
        drawn[late] = words(rng, late.size)
    return np.asarray(drawn % np.uint64(p.denominator) < np.uint64(p.numerator))


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
