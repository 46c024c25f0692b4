"""Loss distributions in floats, step for step as `exact.loss` makes them: for searching, never for a statement.

A calibration looks at a dozen laws and keeps one. These estimates say which laws are worth an exact look; what is kept
is always judged by the exact distribution. They follow the exact ones through every rounding to a coarser grid, so that
the search takes the way it would take by exact numbers alone.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from math import gcd, log
from typing import Protocol, runtime_checkable

import numpy as np

from dalenius import limits
from dalenius.core.law import FloatArray, IntArray, IntegerLaw, WeightTable
from dalenius.core.profile import Moves, Shift
from dalenius.errors import TooLarge
from dalenius.exact.loss import MOST_ATOMS, ROUNDED, ExponentialLaw, common_unit, is_symmetric

_NEGLIGIBLE = 2.0**-92
_TABLE_BITS = 144
# Floats are so many times faster than long integers, and so many products of a convolution take the time of an atom.
_PER_FLOAT = 16
_PRODUCTS = 1024
_MOST_PRODUCTS = 3 * 10**8
# Longer products of two lists are parted among threads, one by one, which takes up to a hundred times as long.
_PIECE = 8192


@runtime_checkable
class EstimatedLaw(Protocol):
    """A law that bounds its own loss, and can say the same in floats."""

    def coarse_estimate(self, size: int) -> "LossEstimate | None":
        """`coarse_loss` in floats, or None to list it."""


@dataclass(frozen=True, slots=True)
class LossEstimate:
    """masses[i] is about P(loss = (first + i) * unit) as the exact distribution has it."""

    unit: Fraction
    first: int
    masses: FloatArray
    infinite: float = 0.0

    def delta(self, epsilon: Fraction) -> float:
        start = max(epsilon // self.unit + 1 - self.first, 0)
        gaps = np.arange(start, len(self.masses)) * float(self.unit)
        gaps += float(self.first * self.unit - epsilon)
        return self.infinite + float((self.masses[start:] * -np.expm1(-gaps)).sum())

    def tail(self, epsilon: Fraction) -> float:
        start = max(epsilon // self.unit + 1 - self.first, 0)
        return self.infinite + float(self.masses[start:].sum())

    def beside(self, other: "LossEstimate") -> "LossEstimate | None":
        left, right = self, other
        if self.unit != other.unit:
            widest = max(len(self.masses) * self.unit, len(other.masses) * other.unit)
            unit = max(common_unit(self.unit, other.unit), widest / MOST_ATOMS)
            left, right = self._on(unit), other._on(unit)
        if len(left.masses) * len(right.masses) > _MOST_PRODUCTS:
            return None
        limits.spend(len(left.masses) * len(right.masses) // _PRODUCTS)
        both = left.infinite + right.infinite - left.infinite * right.infinite
        masses = _convolved(left.masses, right.masses)
        return LossEstimate(left.unit, left.first + right.first, masses, both)._narrowed()

    def _on(self, unit: Fraction) -> "LossEstimate":
        p, q = (self.unit / unit).as_integer_ratio()
        count = len(self.masses)
        if max(abs(self.first), abs(self.first + count)) * p < 1 << 62 and q < 1 << 62:
            places = -(-(self.first + np.arange(count, dtype=np.int64)) * p // q)
        else:
            places = np.array([-(-(self.first + i) * p // q) for i in range(count)])
        first = int(places[0])
        return LossEstimate(unit, first, _summed(places - first, self.masses), self.infinite)

    def times(self, count: int) -> "LossEstimate | None":
        if count == 1:
            return self
        half = self.times(count // 2)
        whole = None if half is None else half.beside(half)
        return whole if whole is None or count % 2 == 0 else whole.beside(self)

    def _narrowed(self) -> "LossEstimate":
        below = np.cumsum(self.masses)
        low = min(int(np.searchsorted(below, _NEGLIGIBLE, side="right")), len(below) - 1)
        high = len(below)
        if self.infinite:
            above = np.cumsum(self.masses[::-1])
            high = max(high - int(np.searchsorted(above, _NEGLIGIBLE, side="right")), low + 1)
        kept = self.masses[low:high].copy()
        kept[0] += below[low - 1] if low else 0.0
        whole = LossEstimate(self.unit, self.first + low, kept, self.infinite)
        return whole if len(kept) <= MOST_ATOMS else whole._on(self.unit * (len(kept) // MOST_ATOMS + 1))


@lru_cache(maxsize=64)
def of_shift(law: IntegerLaw, size: int) -> LossEstimate | None:
    """The loss of the pair (noise, noise + size); None where only the exact distribution knows it."""
    if isinstance(law, EstimatedLaw):
        coarse = law.coarse_estimate(size)
        if coarse is not None:
            return coarse
    reach = _reach(law)
    if not isinstance(law, ExponentialLaw) or reach is None:
        return None
    x = np.arange(-reach, reach + 1)
    weight = np.exp(law.log_pmf(x))
    unit, key = law.log_weight()
    is_shared = np.isfinite(law.log_pmf(x - size))
    keys = np.array([key(v) - key(v - size) for v in x[is_shared].tolist()], dtype=np.float64)
    weight /= weight.sum()
    return _collected(unit, keys, weight[is_shared], float(weight[~is_shared].sum()))


def of_table(table: WeightTable, size: int) -> LossEstimate | None:
    """Of a law that is known by its weights alone, on the unit to which the exact distribution rounds its losses up."""
    total = sum(table.lower)
    weight = np.array([u / total for u in table.upper])
    x = np.arange(len(weight))
    is_shared = (x >= size) & (x - size < len(weight)) & (weight > 0)
    partner = weight[np.clip(x - size, 0, len(weight) - 1)]
    is_shared &= partner > 0
    keys = np.ceil(np.log(weight[is_shared] / partner[is_shared]) / float(ROUNDED) - 1e-9)
    return _collected(ROUNDED, keys, weight[is_shared], float(weight[~is_shared].sum()))


def _reach(law: IntegerLaw) -> int | None:
    """How far the exact table of weights is listed, None where that is too far or not known."""
    low, high = law.support
    if low is not None and high is not None:
        return high if high == -low and high - low < 4 * MOST_ATOMS else None
    level = float(law.log_pmf(np.zeros(1, dtype=np.int64))[0]) - _TABLE_BITS * log(2)
    reach = 16
    while float(law.log_pmf(np.array([reach]))[0]) > level:
        reach *= 2
        if reach > 4 * MOST_ATOMS:
            return None
    return reach if 2 * reach < 4 * MOST_ATOMS else None


def _collected(unit: Fraction, keys: FloatArray, weight: FloatArray, infinite: float) -> LossEstimate | None:
    if not len(keys) or float(np.abs(keys).max()) > 2**52:
        return None
    whole = keys.astype(np.int64)
    step = reduce(gcd, np.unique(np.abs(whole)).tolist(), 0) or 1
    places = whole // step
    first = int(places.min())
    if int(places.max()) - first > 1 << 22:
        return None
    return LossEstimate(unit * step, first, _summed(places - first, weight), infinite)


def _convolved(left: FloatArray, right: FloatArray) -> FloatArray:
    """Every sum of products, in pieces on one thread; all terms are positive, so that small sums keep their digits."""
    short, long = (left, right) if len(left) <= len(right) else (right, left)
    whole = np.zeros(len(left) + len(right) - 1)
    for start in range(0, len(short), _PIECE):
        piece = short[start : start + _PIECE]
        whole[start : start + len(piece) + len(long) - 1] += np.convolve(long, piece)
    return whole


def _summed(places: IntArray, weight: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(places, weights=weight), dtype=np.float64)


def of_product(product: tuple[Shift, ...]) -> LossEstimate | None:
    """All cells together; what it takes is counted each time, whatever is kept."""
    whole, atoms = _product(product)
    limits.spend(atoms)
    return whole


@lru_cache(maxsize=64)
def _product(product: tuple[Shift, ...]) -> tuple[LossEstimate | None, int]:
    with limits.counted() as atoms:
        whole = _composed(product)
    return whole, atoms[0]


def _composed(product: tuple[Shift, ...]) -> LossEstimate | None:
    whole: LossEstimate | None = None
    for s in product:
        one = of_shift(s.law, s.size)
        part = None if one is None else one.times(s.times)
        whole = part if part is None or whole is None else whole.beside(part)
        if whole is None:
            return None
    return whole


def tail_of(product: tuple[Shift, ...], epsilon: Fraction) -> Fraction:
    """About P(loss > epsilon) of a product; raises `TooLarge` where it is not estimated."""
    if not product:
        return Fraction(0)
    whole = of_product(product) if all(is_symmetric(s.law) for s in product) else None
    if whole is None:
        raise TooLarge("This loss is not estimated.")
    return Fraction(whole.tail(epsilon))


def delta_of(products: Moves, epsilon: Fraction) -> float | None:
    """About delta(epsilon) of the worst product; None where one of them is not estimated."""
    deltas = []
    for whole in map(of_product, products):
        if whole is None:
            return None
        limits.spend(len(whole.masses) // _PER_FLOAT)
        deltas.append(whole.delta(epsilon))
    return max(deltas, default=None)
