"""What one row can add to sums that are measured together, and how far these then move between neighbours."""

from dataclasses import dataclass
from math import isqrt
from typing import Protocol

from dalenius.core.neighbours import Neighbours
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.statistics._moves import bounded_sum


class Basis(Protocol):
    """What one row can add to the arrays of a cell, before they are halved."""

    def sensitivity(self, neighbours: Neighbours, cells: int, arrays: int) -> Sensitivity:
        """How far all arrays of so many possible cells move between neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separate:
    """One array: a row adds a whole number in [low, high], or nothing; `is_complete`: no row can add nothing."""

    low: int
    high: int
    is_complete: bool = False

    def sensitivity(self, neighbours: Neighbours, cells: int, arrays: int) -> Sensitivity:
        return bounded_sum(neighbours, cells=cells, low=self.low, high=self.high, is_complete=self.is_complete)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simplex:
    """A row adds numbers that are not negative and whose sum is at most `total`.

    A unit with c rows moves the arrays by at most c total in the l1 norm and in the l2 norm when it is added or
    removed; replaced, by 2 c total and sqrt(2) c total.
    """

    total: int

    def sensitivity(self, neighbours: Neighbours, cells: int, arrays: int) -> Sensitivity:
        if cells == 0:
            return Sensitivity.of_patterns(())
        sides, reach = 2 if neighbours.is_replace else 1, neighbours.max_rows * self.total
        l0 = arrays * min(sides * neighbours.max_rows, cells)
        return Sensitivity.norms(l0=l0, l1=sides * reach, l2_squared=sides * reach**2, linf=reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parabola:
    """`first` (x - low) and `second` (x - c)^2 of a public number of rows, c the middle of the bounds; one cell.

    Let a = high - c and b = c - low, so that a - b is 0 or 1 and W = a + b. A row x that replaces y moves the two sums
    by d = x - y and d s with s = x + y - 2c. Given s, |d| is at most 2a - s where s >= a - b, and at most 2b + s below;
    negative s give less, because b <= a. So the l1 norm is at most the largest (2a - s)(first + second s) over whole s
    from a - b to 2a, a concave quadratic, and the squared l2 norm the largest (2a - s)^2 (first^2 + second^2 s^2). The
    derivative of the latter has the sign of 2 second^2 s (a - s) - first^2: it falls, then rises, then falls again, so
    that the largest is at the first s or beside the larger root. With first = 2a and second = 1 the l1 norm is that of
    the total alone (W first, but for a - b): the squares cost nothing. With first = 20a and second = 33 the l2 norm is;
    they would cost something from second a = 1.665 first on.
    """

    low: int
    high: int
    first: int
    second: int

    def __post_init__(self) -> None:
        if self.high <= self.low or min(self.first, self.second) < 1:
            raise ParameterError("Total and squares of different values are counted at least once each.", name="second")

    @classmethod
    def of(cls, low: int, high: int, *, is_pure: bool) -> "Parabola":
        """Weighed so that the squares cost nothing in the l1 norm, or in the l2 norm."""
        up = high - (low + high) // 2
        first, second = (2 * up, 1) if is_pure else (20 * up, 33)
        return cls(low=low, high=high, first=first, second=second)

    @property
    def centre(self) -> int:
        return (self.low + self.high) // 2

    @property
    def _up(self) -> int:
        return self.high - self.centre

    @property
    def _second_rise(self) -> int:
        """The larger root of 2 second^2 s (a - s) = first^2, at most two below it; half of a where there is none."""
        inside = max(self._up**2 - -(-2 * self.first**2 // self.second**2), 0)
        return (self._up + isqrt(inside)) // 2

    def sensitivity(self, neighbours: Neighbours, cells: int, arrays: int) -> Sensitivity:
        """Of rows that are replaced; rows that are added move both sums the furthest at once."""
        rows, up, width = neighbours.max_rows, self._up, self.high - self.low
        far = self.second * up**2
        if not neighbours.is_replace:
            reach = self.first * width
            l1, square = reach + far, reach**2 + far**2
        else:
            start = 2 * up - width
            top = min(max((2 * up * self.second - self.first) // (2 * self.second), start), 2 * up)
            places = {start, top, min(top + 1, 2 * up)}
            l1 = max((2 * up - s) * (self.first + self.second * s) for s in places)
            root = self._second_rise
            near = {start, *(min(max(s, start), 2 * up) for s in range(root, root + 3))}
            square = max((2 * up - s) ** 2 * (self.first**2 + self.second**2 * s**2) for s in near)
        linf = rows * max(self.first * width, far)
        return Sensitivity.norms(l0=2, l1=rows * l1, l2_squared=rows**2 * square, linf=linf)
