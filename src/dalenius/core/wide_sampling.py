"""Exact samplers of laws too wide for one table, built from small tables.

A geometric variable on 0, 1, 2, … has independent digits in any base: P(G = g) is a product over the digits of g. So a
two-sided geometric of any scale is a short table for the leading part, with the sign, and one table for each lower
digit; nothing is rejected and nothing is approximated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalenius.core.exact import exp_enclosure
from dalenius.core.law import FloatArray, IntArray, WeightTable
from dalenius.core.randomness import RandomSource
from dalenius.core.sampling import LARGEST_VALUE, TableSampler
from dalenius.errors import InternalError, TooLarge

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
    """A law on integers used inside a sampler; `table` gives its weights."""

    low: int | None
    high: int | None
    table: Callable[[int], WeightTable]
    name: ClassVar[str] = "piece"
    mean: ClassVar[float] = 0.0
    variance: ClassVar[float] = 0.0

    @property
    def parameters(self) -> Mapping[str, Fraction | int]:
        """A piece has none of its own."""
        return {}

    @property
    def support(self) -> tuple[int | None, int | None]:
        """Smallest and largest value."""
        return (self.low, self.high)

    def weights(self, bits: int) -> WeightTable:
        """Enclosed weights."""
        return self.table(bits)

    def log_pmf(self, k: IntArray) -> FloatArray:
        """Pieces are drawn from, never analysed."""
        raise InternalError("a piece of a sampler has no public law")


def _digit(rate: Fraction, count: int) -> _Piece:
    """P(x) proportional to exp(-rate x) on 0, …, count - 1."""

    def table(bits: int) -> WeightTable:
        lower, upper, _ = falling(rate, count, bits)
        return WeightTable(bits, 0, lower, upper)

    return _Piece(0, count - 1, table)


def _leading(rate: Fraction, gap: Fraction) -> _Piece:
    """exp(-rate j) for j >= 0, and exp(-gap - rate (-1 - j)) for j < 0."""

    def table(bits: int) -> WeightTable:
        lower, upper, rest = falling(rate, None, bits)
        left_lower, left_upper, _ = falling(rate, None, bits, gap)
        return WeightTable(
            bits, -len(left_lower), left_lower[::-1] + lower, left_upper[::-1] + upper, rest, rest
        )

    return _Piece(None, None, table)


class TwoSidedGeometric:
    """P(x) proportional to exp(-rate |x|) on all integers: leading part with sign, then digits.

    With G geometric, X is G with probability 1 / (1 + b) and -1 - G otherwise, b = exp(-rate).
    """

    def __init__(self, rate: Fraction) -> None:
        levels = 0
        # Each level divides the scale of the leading part by 256, until its table is short.
        while rate * (1 << (_DIGIT_BITS * levels)) * 64 < 1:
            levels += 1
        base = 1 << _DIGIT_BITS
        self.width = base**levels
        self._leading = TableSampler(
            _leading(rate * self.width, rate), largest=LARGEST_VALUE // self.width - 1
        )
        self._digits = [TableSampler(_digit(rate * base**i, base)) for i in range(levels)]

    def draw(self, size: int, rng: RandomSource) -> IntArray:
        """So many independent draws."""
        return self.assembled(self._leading.draw(size, rng), rng)

    def assembled(self, leading: IntArray, rng: RandomSource) -> IntArray:
        """Complete a leading part by its lower digits."""
        sign = leading >> 63
        total = leading ^ sign
        for digit in reversed(self._digits):
            total <<= _DIGIT_BITS
            total += digit.draw(len(total), rng)
        total ^= sign
        return total
