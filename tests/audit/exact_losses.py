"""Exact checks of privacy claims: hockey-stick divergences in integer enclosures, by direct summation.

Nothing here uses the loss distributions from which mechanisms make their claims, so that an error there shows here.
Every result is a pair (lower, upper) of rationals that encloses the truth; a claim holds if it is at least the lower
bound, and is tight if it does not exceed the upper bound by more than the width.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm

from dalenius.core.law import IntegerLaw, Kernel
from dalenius.core.rationals import exp_enclosure, log_lower, log_upper
from dalenius.errors import TooLarge

Bounds = tuple[Fraction, Fraction]
Row = Mapping[Hashable, Fraction]
_BITS = 160
_MOST_POINTS = 2_000_000


class _Pmf:
    """Enclosed probabilities, as integers over 2**bits, of a law's table; `outside` bounds what is left."""

    def __init__(self, law: IntegerLaw, bits: int) -> None:
        table = law.weights(bits + 32)
        least, most = sum(table.lower), sum(table.upper) + table.left + table.right
        self.first, self.bits = table.first, bits
        self.low = [(w << bits) // most for w in table.lower]
        self.high = [-((-w << bits) // least) for w in table.upper]
        self.outside = -((-(table.left + table.right) << bits) // least)
        self.support = law.support

    @property
    def is_mirrored(self) -> bool:
        """Whether table and support are their own mirror images, as computed and not as the law says."""
        low, high = self.support
        ends = 2 * self.first + len(self.low) - 1
        is_even = low is high is None or (low is not None and high is not None and low + high == ends)
        return is_even and self.low == self.low[::-1] and self.high == self.high[::-1]

    def pairs(self, shift: int) -> list[tuple[int, int, int, int]]:
        """(p low, p high, q low, q high) at every point of the table: p of the noise, q of the noise + shift."""
        rows = []
        for i, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            j = i - shift
            if 0 <= j < len(self.low):
                rows.append((low, high, self.low[j], self.high[j]))
            else:
                rows.append((low, high, 0, 0 if self._is_impossible(self.first + j) else self.outside))
        return rows

    def _is_impossible(self, x: int) -> bool:
        low, high = self.support
        return (low is not None and x < low) or (high is not None and x > high)


def hockey_stick(law: IntegerLaw, shift: int, epsilon: Fraction, bits: int = _BITS) -> Bounds:
    """delta(epsilon) between the noise and the noise moved by `shift`, the worse of both directions."""
    return product_hockey_stick(law, (shift,), epsilon, bits)


def product_hockey_stick(law: IntegerLaw, shifts: Sequence[int], epsilon: Fraction, bits: int = _BITS) -> Bounds:
    """The same for several cells with independent noise, each moved by its own shift; by enumeration of the product."""
    pmf = _Pmf(law, bits)
    if len(pmf.low) ** len(shifts) > _MOST_POINTS:
        raise TooLarge(f"The product has more than {_MOST_POINTS} points.")
    factor = exp_enclosure(epsilon, bits)
    # Noise that is its own mirror image has the same loss in both directions.
    signs = (1,) if pmf.is_mirrored else (1, -1)
    bounds = [_one_direction(pmf, tuple(sign * s for s in shifts), factor) for sign in signs]
    return max(b[0] for b in bounds), min(max(b[1] for b in bounds), Fraction(1))


def _one_direction(pmf: _Pmf, shifts: tuple[int, ...], factor: tuple[int, int]) -> Bounds:
    scale = pmf.bits
    # Points of the product as (p low, p high, q low, q high), the last cell added while summing.
    points = [(1 << scale, 1 << scale, 1 << scale, 1 << scale)]
    for shift in shifts[:-1]:
        cell = pmf.pairs(shift)
        points = [
            (a * e >> scale, -(-b * f >> scale), c * g >> scale, -(-d * h >> scale))
            for a, b, c, d in points
            for e, f, g, h in cell
        ]
    cell = pmf.pairs(shifts[-1])
    low = high = 0
    for a, b, c, d in points:
        c_low, d_high = c * factor[0] >> scale, -(-d * factor[1] >> scale)
        for e, f, g, h in cell:
            least = a * e - d_high * h
            most = b * f - c_low * g
            if least > 0:
                low += least
            if most > 0:
                high += most
    unit = 1 << (2 * scale)
    missing = len(shifts) * pmf.outside << scale
    return Fraction(low, unit), Fraction(high + missing, unit)


def max_log_ratio(law: IntegerLaw, shift: int, bits: int = 64) -> Bounds:
    """Largest log p(x) / p(x - shift) over the table, both directions; only points possible on both sides."""
    table = law.weights(bits + 64)
    low = high = Fraction(0)
    for step in (shift, -shift):
        for i in range(max(step, 0), min(len(table.lower), len(table.lower) + step)):
            j = i - step
            if table.lower[i] >> 32 and table.lower[j] >> 32:
                low = max(low, Fraction(table.lower[i], table.upper[j]))
                high = max(high, Fraction(table.upper[i], table.lower[j]))
    return log_lower(low, bits), log_upper(high, bits)


def kernel_rows(kernel: Kernel, largest: int) -> list[dict[Hashable, Fraction]]:
    """Rows p(a, .) of a published kernel for a = 0, …, largest."""
    rows: list[dict[Hashable, Fraction]] = []
    last = len(kernel.rows) - 1
    for a in range(largest + 1):
        row, extra = min(a, last), max(a - last, 0)
        rows.append(
            {kernel.firsts[row] + extra + i: Fraction(w, kernel.scale) for i, w in enumerate(kernel.rows[row]) if w}
        )
    return rows


def kernel_delta(
    rows: Sequence[Row], epsilon: Fraction, pairs: Iterable[tuple[int, int]] | None = None, bits: int = _BITS
) -> Bounds:
    """delta(epsilon) of a finite kernel: rows of exact probabilities, by output. Neighbours are adjacent rows unless
    given.

    >>> flip = [{0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}]
    >>> kernel_delta(flip, Fraction(0))
    (Fraction(1, 2), Fraction(1, 2))
    """
    low, high = exp_enclosure(epsilon, bits)
    worst = [Fraction(0), Fraction(0)]
    for a, b in pairs if pairs is not None else zip(range(len(rows) - 1), range(1, len(rows)), strict=True):
        # In units of one common denominator the sums are sums of integers.
        unit = lcm(*(mass.denominator for row in (rows[a], rows[b]) for mass in row.values()))
        first, second = (
            {key: mass.numerator * (unit // mass.denominator) for key, mass in row.items()}
            for row in (rows[a], rows[b])
        )
        for p, q in ((first, second), (second, first)):
            for side, factor in enumerate((high, low)):
                loss = sum(max(0, (m << bits) - factor * q.get(k, 0)) for k, m in p.items())
                worst[side] = max(worst[side], Fraction(loss, unit << bits))
    return worst[0], worst[1]


def kernel_max_log_ratio(rows: Sequence[Row], pairs: Iterable[tuple[int, int]] | None = None) -> Bounds | None:
    """Largest log p(a, k) / p(b, k) over neighbouring rows; None where an output is possible on one side only."""
    worst = Fraction(1)
    for a, b in pairs if pairs is not None else zip(range(len(rows) - 1), range(1, len(rows)), strict=True):
        for p, q in ((rows[a], rows[b]), (rows[b], rows[a])):
            for key, mass in p.items():
                if mass and not q.get(key):
                    return None
                if mass:
                    worst = max(worst, mass / q[key])
    return log_lower(worst), log_upper(worst)
