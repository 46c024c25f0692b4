"""Exact samplers of laws too wide for one table, built from small tables.

A geometric variable on 0, 1, 2, … has independent digits in any base: P(G = g) is a product over the digits of g. So a
two-sided geometric of any scale is a short table for the leading part, with the sign, and one table for each lower
digit; nothing is rejected and nothing is approximated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from dalenius.core.law import IntArray, WeightTable
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import exp_enclosure
from dalenius.errors import TooLarge
from dalenius.exact.sampling import CHUNK, LARGEST_VALUE, TableSampler

_DIGIT_BITS = 8
_GUARD = 64


def falling(
    rate: Fraction, count: int | None, bits: int, start: Fraction = Fraction(0)
) -> tuple[list[int], list[int], int]:
    """Enclosures of exp(-start - rate x), x = 0, 1, …: `count` of them, or until the rest of the sum is below a unit.

    Also returns the bound of the rest, in units.
    """
    guard = _GUARD + 2 * (rate.denominator // rate.numerator).bit_length()
    work = bits + guard
    if count is None and work * rate.denominator > (1 << 24) * rate.numerator:
        raise TooLarge("The law is too wide for a table of weights.")
    low, high = exp_enclosure(-start, work)
    ratio_low, ratio_high = exp_enclosure(-rate, work)
    # 1 / (1 - exp(-rate)) bounds the whole sum relative to its first term.
    whole = (1 << work) // ((1 << work) - ratio_high) + 1
    lower: list[int] = []
    upper: list[int] = []
    while (count is None and high * whole >> guard > 0) or (count is not None and len(lower) < count):
        lower.append(low >> guard)
        upper.append(-(-high >> guard))
        low = low * ratio_low >> work
        high = -(-high * ratio_high >> work)
    return lower, upper, 1


@dataclass(frozen=True)
class _Piece:
    support: tuple[int | None, int | None]
    weights: Callable[[int], WeightTable]
    name: ClassVar[str] = "piece"


def _weights(rate: Fraction, count: int | None, gap: Fraction, bits: int) -> WeightTable:
    """exp(-rate j) for 0 <= j < count; without a count for all j >= 0, and exp(-gap - rate (-1 - j)) for j < 0."""
    lower, upper, rest = falling(rate, count, bits)
    if count is not None:
        return WeightTable(bits, 0, lower, upper)
    left_lower, left_upper, _ = falling(rate, None, bits, gap)
    return WeightTable(bits, -len(left_lower), left_lower[::-1] + lower, left_upper[::-1] + upper, rest, rest)


class TwoSidedGeometric:
    """P(x) proportional to exp(-rate |x|) on all integers: leading part with sign, then digits.

    With G geometric, X is G with probability 1 / (1 + b) and -1 - G otherwise, b = exp(-rate). The lowest `low_bits`
    bits of G are drawn as digits of at most eight bits; the leading part is drawn from a table.
    """

    width: int
    leading: TableSampler

    def __init__(self, rate: Fraction, low_bits: int | None = None) -> None:
        if low_bits is None:
            low_bits = max((rate.denominator // rate.numerator).bit_length() - 3, 0)
        count = -(-low_bits // _DIGIT_BITS)
        sizes = [(low_bits + i) // count for i in range(count)] if count else []
        self.width = 1 << low_bits
        leading = _Piece((None, None), partial(_weights, rate * self.width, None, rate))
        # Leading parts j: the draw will lie in [j * width, (j + 1) * width).
        self.leading = TableSampler(leading, largest=LARGEST_VALUE // self.width - 1)
        self._digits: list[tuple[int, TableSampler]] = []
        weight = 1
        for bits in sizes:
            digit = _Piece((0, (1 << bits) - 1), partial(_weights, rate * weight, 1 << bits, rate))
            self._digits.insert(0, (bits, TableSampler(digit)))
            weight <<= bits

    def draw(self, size: int, rng: RandomSource) -> IntArray:
        out = np.empty(size, dtype=np.int64)
        # Short runs keep every intermediate array in the processor's cache.
        for start in range(0, size, CHUNK):
            part = out[start : start + CHUNK]
            part[:] = self.completed(self.leading.draw(len(part), rng), rng)
        return out

    def completed(self, leading: IntArray, rng: RandomSource) -> IntArray:
        # The digits belong to G, which is the value itself or its complement.
        sign = leading >> 63
        total = leading ^ sign
        for bits, digit in self._digits:
            total <<= bits
            total += digit.draw(len(total), rng)
        total ^= sign
        return total


def is_served(rate: Fraction, limit: int) -> bool:
    """Whether rejection finds a draw soon: about rate * limit of the proposals are accepted when the limit is short."""
    return rate * limit * 1000 >= 1


class TruncatedSampler:
    """P(x) proportional to exp(-rate |x|) on |x| <= limit, by rejection from the untruncated law."""

    def __init__(self, rate: Fraction, limit: int) -> None:
        if not is_served(rate, limit):
            raise TooLarge("This law is nearly uniform over a very long range, which is not served.")
        self._proposal = TwoSidedGeometric(rate)
        self._limit = limit

    def draw(self, size: int, rng: RandomSource) -> IntArray:
        """So many independent draws; the number of proposals depends on the noise alone."""
        kept: list[IntArray] = []
        missing = size
        while missing > 0:
            proposed = self._proposal.draw(missing + missing // 8 + 64, rng)
            kept.append(proposed[np.abs(proposed) <= self._limit][:missing])
            missing -= len(kept[-1])
        return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)
