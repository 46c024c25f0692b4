"""Whole columns read against their declaration, equal to `spec.coding` value by value and much faster.

The general road codes each distinct value once with the scalar reader. Integers and floats of numeric variables,
and integers that stand for categories, have vectorised roads; whatever those cannot decide beyond doubt goes back
to the scalar reader.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import count, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import DROP, Bounds, Categories, Variable
from dalenius.core.law import IntArray
from dalenius.spec.coding import DROPPED_NUMBER, reader

FloatArray = NDArray[np.float64]
_WIDEST_MAP = 1 << 20
_STRETCH = 1 << 14


def code_distinct(variable: Variable, distinct: list[object]) -> IntArray:
    read = reader(variable)
    return np.fromiter((read(value)[0] for value in distinct), dtype=np.int64, count=len(distinct))


@dataclass(frozen=True, slots=True, eq=False)
class Factored:
    """A coded column as a small list of codes and, for each row, a place in it.

    `is_declared` says that the list follows from the declaration alone, so that it is the same for every batch.
    """

    places: NDArray[Any]
    codes: IntArray
    is_declared: bool = False

    def __len__(self) -> int:
        return len(self.places)

    def expand(self) -> IntArray:
        codes: IntArray = self.codes[self.places]
        return codes


Column = IntArray | Factored


def expanded(column: Column) -> IntArray:
    return column.expand() if isinstance(column, Factored) else column


@dataclass(frozen=True, slots=True, eq=False)
class IntegerMap:
    """Codes of integers for a categorical variable: a dense map over the declared integers, and a rest.

    Its size is a matter of the declaration, never of the data. The last two places are those of everything outside, and
    of missing values.
    """

    first: int
    codes: IntArray
    unseen: int

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, categories: Categories) -> "IntegerMap | None":
        """The map, or None if the declared integers are spread too far."""
        missing = -1 if categories.missing == DROP else categories.code(categories.missing)
        unseen = -1 if categories.unseen == DROP else categories.code(categories.unseen)
        whole = {}
        for text, code in (*zip(categories.texts, count()), *zip(categories.missing_codes, repeat(missing))):
            digits = text.removeprefix("-")
            if digits.isdecimal() and text.isascii() and len(text) < 18 and str(int(text)) == text:
                whole[int(text)] = code
        first, last = min(whole, default=0), max(whole, default=0)
        if last - first >= _WIDEST_MAP:
            return None
        codes = np.full(last - first + 3, unseen, dtype=np.int64)
        for value, code in whole.items():
            codes[value - first] = code
        codes[-1] = missing
        return cls(first, codes, unseen)

    @property
    def is_small(self) -> bool:
        return self._width(16) == 16

    def _width(self, least: int) -> int:
        """So many bits hold the declared integers, what lies beside them and every place."""
        largest = max(1 - self.first, self.first + len(self.codes), len(self.codes))
        return next(bits for bits in (16, 32, 64) if bits >= least and largest < 2 ** (bits - 1))

    def take(self, values: NDArray[Any], is_missing: NDArray[np.bool_] | None = None) -> Factored:
        size = self._width(8 * values.dtype.itemsize) // 8
        kind = np.dtype(f"u{size}").type
        # What lies below the first wraps around to the far end, and is cut off with what lies above the last.
        held = values.astype(f"i{size}", copy=False).view(kind)
        places = np.subtract(held, kind(self.first % 2 ** (8 * size)))
        np.minimum(places, kind(len(self.codes) - 2), out=places)
        if is_missing is not None:
            places[is_missing] = len(self.codes) - 1
        return Factored(places, self.codes, is_declared=True)


def code_integers(bounds: Bounds, values: IntArray) -> IntArray | None:
    """Steps of 64-bit integers; None where the declared step is too coarse for the fast road."""
    p, q = bounds.step.numerator, bounds.step.denominator
    # Inside the bounds |x| q <= 2^52 p; with p below 2^9 the products stay below 2^62.
    if p >= 2**9:
        return None
    lowest = -(-bounds.lower.numerator // bounds.lower.denominator)
    highest = bounds.upper.numerator // bounds.upper.denominator
    if not -(2**62) < lowest <= highest + 1 < 2**62:
        return None
    below, above = values < lowest, values > highest
    clipped = np.clip(values, lowest, max(highest, lowest))
    steps = clipped if p == q == 1 else _half_even(clipped * q, p)
    coded = _outside(bounds, steps, below, above)
    if bounds.missing_codes:
        codes = [int(code) for code in bounds.missing_codes if code.denominator == 1 and abs(code) < 2**63]
        is_missing = np.isin(values, np.array(codes, dtype=np.int64))
        coded[is_missing] = DROPPED_NUMBER if bounds.missing_code is None else bounds.missing_code
    return coded


def _half_even(numerator: IntArray, denominator: int) -> IntArray:
    whole, rest = np.divmod(numerator, denominator)
    twice = 2 * rest
    up = (twice > denominator) | ((twice == denominator) & (whole % 2 == 1))
    rounded: IntArray = (whole + up).astype(np.int64)
    return rounded


def _outside(bounds: Bounds, steps: IntArray, below: NDArray[np.bool_], above: NDArray[np.bool_]) -> IntArray:
    clamps = bounds.outside != DROP
    steps = np.where(below, bounds.low if clamps else DROPPED_NUMBER, steps)
    return np.where(above, bounds.high if clamps else DROPPED_NUMBER, steps).astype(np.int64)


def code_floats(variable: Variable, values: FloatArray) -> IntArray:
    """Steps of floats, each read as the decimal it prints as.

    The float quotient decides where it is safely away from the middle between two steps and from the bounds; the
    scalar reader decides the rest, once for each distinct value.
    """
    steps = np.empty(len(values), dtype=np.int64)
    doubtful = []
    # A stretch at a time: what is computed of it stays in the cache.
    for start in range(0, len(values), _STRETCH):
        part = slice(start, start + _STRETCH)
        is_safe = _safe_steps(variable.bounds, values[part], steps[part])
        if not is_safe.all():
            doubtful.append(start + np.flatnonzero(~is_safe))
    if doubtful:
        rest = np.concatenate(doubtful)
        distinct, where = np.unique(values[rest], return_inverse=True)
        steps[rest] = code_distinct(variable, distinct.tolist())[where.ravel()]
    return steps


def _safe_steps(bounds: Bounds, values: FloatArray, steps: IntArray) -> NDArray[np.bool_]:
    """Writes the steps of the values that are beyond doubt, and says which these are."""
    with np.errstate(all="ignore"):
        quotient = values / float(bounds.step)
        nearest = np.rint(quotient)
        slack = np.abs(quotient) * 2.0**-48 + 2.0**-40
        safe: NDArray[np.bool_] = np.abs(quotient - nearest) + slack < 0.5
        safe &= (quotient > bounds.low + slack) & (quotient < bounds.high - slack)
        # A whole number on a grid of whole steps of one is exact, ends and middles included.
        if bounds.step == 1:
            safe |= (values == nearest) & (values >= bounds.low) & (values <= bounds.high)
        # Only the nearest float prints as a code.
        if bounds.missing_codes:
            safe &= ~np.isin(values, [float(code) for code in bounds.missing_codes])
        steps[:] = np.where(safe, nearest, 0)
    return safe
