"""How often each unit counts in a bootstrap sample, drawn exactly, and the totals that follow.

Each unit counts a Poisson(1) number of times, on its own. Units that add the same number to a total are drawn together:
the sum of m independent Poisson(1) numbers is Poisson(m), and Poisson(m) is the sum over the binary digits of m of
Poisson(2^j). So a file of ten million rows with a hundred different values takes a hundred short sums, and the totals
have exactly the law of counting row by row. Multiplicities are never kept: each is added to its total and forgotten.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dalenius.core.integer_law import DrawnLaw
from dalenius.core.law import IntArray, WeightTable
from dalenius.core.randomness import RandomSource, words
from dalenius.exact.sampling import ExactSampler, TableSampler, sampler_of

# Digits of a multiplicity beyond this one are drawn as several of it.
_LAST_DIGIT = 22
# Up to Poisson(8) most draws are decided by a byte.
_LAST_OF_BYTES = 3
# As many draws as fit a processor's own memory.
_AT_ONCE = 1 << 17
_DIGIT_BITS = 24
_LIMIT = 1 << 62
_GUARD = 48
_UNDECIDED = 255


@dataclass(frozen=True)
class PoissonLaw:
    rate: int
    name: ClassVar[str] = "poisson"
    support: ClassVar[tuple[int, None]] = (0, None)

    def weights(self, bits: int) -> WeightTable:
        """rate^k / k! over its largest value, from the peak outwards, until less than a unit is left outside."""
        work = bits + _GUARD
        left = _outwards(work, lambda i: (self.rate - i, self.rate), self.rate)
        right = _outwards(work, lambda i: (self.rate, self.rate + i + 1), None)
        weights, first = [*reversed(left[1:]), *right], self.rate - (len(left) - 1)
        lower, upper = [low >> _GUARD for low, _ in weights], [-(-high >> _GUARD) for _, high in weights]
        return WeightTable(bits, first, lower, upper, left=1 if first else 0, right=1)


def _outwards(work: int, ratio: Callable[[int], tuple[int, int]], most: int | None) -> list[tuple[int, int]]:
    """Enclosures of weights that are multiplied by rational ratios, until the rest is below a unit of 2**-GUARD."""
    low = high = 1 << work
    weights = [(low, high)]
    while most is None or len(weights) <= most:
        above, below = ratio(len(weights) - 1)
        low, high = low * above // below, -(-high * above // below)
        # The ratios fall, so that the rest is at most a geometric sum.
        if above < below and high * below // (below - above) < 1 << (_GUARD - 2):
            break
        weights.append((low, high))
    return weights


class ByteSampler:
    """One random byte per draw of a law from zero on, more for the undecided; answers are bytes where they fit.

    The generator of the system is the slowest part of drawing many small numbers. A uniform number is read eight bits
    at a time: the first eight decide wherever no threshold of the law lies inside their interval (49 times in 50 for
    Poisson(1)), then sixteen by the guide of the table, then as many as are needed. What is decided by fewer bits is
    what more bits would have decided: the law is exactly the stated one.
    """

    def __init__(self, law: DrawnLaw) -> None:
        self._table = TableSampler(law)
        guide = self._table.guide.reshape(256, 256)
        is_decided = (guide == guide[:, :1]).all(axis=1) & (guide[:, 0] >= 0) & (guide[:, 0] < _UNDECIDED)
        self._first = np.where(is_decided, guide[:, 0], _UNDECIDED).astype(np.uint8).tobytes()

    def draw(self, size: int, rng: RandomSource) -> NDArray[np.integer[Any]]:
        first = rng.bytes(size)
        # A copy that may be written to, looked up byte by byte.
        drawn = np.frombuffer(bytearray(first.translate(self._first)), dtype=np.uint8)
        where = np.flatnonzero(drawn == _UNDECIDED)
        if len(where):
            begun = np.frombuffer(first, dtype=np.uint8)[where].astype(np.uint16)
            decided = self._table.extend(begun << np.uint16(8) | words(rng, len(where), np.uint8), rng)
            if int(decided.max()) >= _UNDECIDED:
                wide: IntArray = drawn.astype(np.int64)
                wide[where] = decided
                return wide
            drawn[where] = decided
        return drawn


def resampled_totals(values: IntArray, counts: IntArray, replicates: int, rng: RandomSource) -> list[int]:
    """For each replicate the sum of value * multiplicity over units, of which `counts` have each value."""
    totals = [0] * replicates
    adds = (counts > 0) & (values != 0)
    values, counts = values[adds].astype(np.int64), counts[adds].astype(np.int64)
    most = max(_AT_ONCE // replicates, 1)
    for digit in range(_LAST_DIGIT + 1):
        is_set = (counts >> digit) & 1 == 1
        added = values[is_set] if digit < _LAST_DIGIT else np.repeat(values, counts >> digit)
        for start in range(0, len(added), most):
            some = added[start : start + most]
            drawn = _sampler(digit).draw(len(some) * replicates, rng).reshape(replicates, len(some))
            totals = [a + b for a, b in zip(totals, weighted_sums(drawn, some), strict=True)]
    return totals


@lru_cache(maxsize=32)
def _sampler(digit: int) -> ExactSampler | ByteSampler:
    """Of Poisson(2^digit); small numbers are decided by eight random bits nearly always, and read more otherwise."""
    law = PoissonLaw(1 << digit)
    return ByteSampler(law) if digit <= _LAST_OF_BYTES else sampler_of(law)


def weighted_sums(drawn: NDArray[np.integer[Any]], values: IntArray) -> list[int]:
    """For each row of multiplicities the sum of value * multiplicity, exactly.

    Values are cut into digits of 24 bits; multiplicities of a byte times a digit, over fewer than 2^21 units, stay
    below 2^53, so that floating-point products and sums of these whole numbers are exact in whatever order they are
    taken.
    """
    if drawn.dtype != np.uint8:
        return _wide_sums(drawn, values)
    digits = [values]
    while int(np.abs(digits[-1]).max(initial=0)) >= 1 << _DIGIT_BITS:
        high = digits[-1] >> _DIGIT_BITS
        digits[-1:] = [digits[-1] - (high << _DIGIT_BITS), high]
    parts = drawn.astype(np.float64) @ np.stack(digits, axis=1).astype(np.float64)
    sums, *higher = parts.astype(np.int64).T.tolist()
    for place, digit in enumerate(higher, 1):
        sums = [a + (b << (_DIGIT_BITS * place)) for a, b in zip(sums, digit, strict=True)]
    whole: list[int] = sums
    return whole


def _wide_sums(drawn: NDArray[np.integer[Any]], values: IntArray) -> list[int]:
    """In 64 bits where they cannot be left, otherwise in whole numbers of any size."""
    if int(drawn.sum(axis=1).max()) * int(np.abs(values).max()) < _LIMIT:
        sums: list[int] = (drawn @ values).tolist()
        return sums
    return [sum(k * v for k, v in zip(row, values.tolist(), strict=True)) for row in drawn.tolist()]
