"""The total and the squares of a public number of rows as one answer, of which one row cannot move both the
furthest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Aggregate, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.statistics._example import Example, Rows, number

__all__ = ["JointMoments"]

LIMIT = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class JointMoments:
    """`first` times the sum of (x - low) and `second` times that of (x - c)^2, c the middle of the bounds, in steps;
    one cell, every row in it.

    Guarantee: let a = high - c and b = c - low, so that a - b is 0 or 1 and W = a + b. A row x that replaces y moves
    the two sums by d = x - y and d s with s = x + y - 2c. Given s, |d| is at most 2a - s where s >= a - b, and at most
    2b + s below; so the l1 norm is at most the largest (2a - s)(first + second s) over s >= a - b, a concave quadratic,
    and the squared l2 norm the largest (2a - s)^2 (first^2 + second^2 s^2), which falls in s >= 0 where 2 first^2 >=
    second^2 a^2 (its derivative has the sign of -first^2 + 2 second^2 s (a - s)). Negative s give less, because b <= a.
    With first = 2a and second = 1 the l1 norm is that of the total alone (W first, but for a - b): the squares cost
    nothing. With first = 5a and second = 7 the l2 norm is.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_joint_moments.py.
    """

    query: TableQuery
    low: int
    high: int
    first: int
    second: int

    def __post_init__(self) -> None:
        if self.high <= self.low:
            raise ParameterError("The bounds of a mean must differ.", name="bounds")
        if self.query.space.axes:
            raise ParameterError("Joint moments are of one cell that every row is in.")
        if 2 * self.first**2 < self.second**2 * self._up**2 or self.second < 1:
            raise ParameterError("The squares weigh too much beside the total.", name="second")

    @classmethod
    def of(cls, query: TableQuery, low: int, high: int, *, is_pure: bool) -> "JointMoments":
        """Weighed so that the squares cost nothing in the l1 norm, or in the l2 norm."""
        up = high - (low + high) // 2
        first, second = (2 * up, 1) if is_pure else (5 * up, 7)
        return cls(query=query, low=low, high=high, first=first, second=second)

    @property
    def centre(self) -> int:
        """The middle of the bounds."""
        return (self.low + self.high) // 2

    @property
    def _up(self) -> int:
        return self.high - self.centre

    @property
    def needs(self) -> tuple[TableQuery, ...]:
        """The total above the lower bound, and the squares about the middle."""
        return (
            replace(self.query, aggregate=Aggregate.TOTAL, centre=self.low),
            replace(self.query, aggregate=Aggregate.SUM_OF_SQUARES, centre=self.centre),
        )

    @property
    def space(self) -> CellSpace:
        return CellSpace((Axis(variable=f"{self.query.value} as", labels=("total", "squares")),))

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        """Both sums, weighed."""
        total, squares = (table.astype(object) for table in exact)
        both = np.concatenate([self.first * total, self.second * squares])
        fitting: IntArray = np.clip(both, -LIMIT, LIMIT).astype(np.int64)
        return fitting

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
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
            square = width**2 * (self.first**2 + self.second**2 * start**2)
        return Sensitivity.norms(
            l0=2, l1=rows * l1, l2_squared=rows**2 * square, linf=rows * max(self.first * width, far)
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Even and odd widths, weighed for either norm."""

        def example(low: int, high: int, is_pure: bool) -> Example:
            statistic = cls.of(TableQuery(space=CellSpace(()), value="x"), low, high, is_pure=is_pure)

            def released(rows: Rows) -> list[int]:
                return [
                    statistic.first * sum(x - low for (x,) in rows),
                    statistic.second * sum((x - statistic.centre) ** 2 for (x,) in rows),
                ]

            return Example(
                statistic=statistic,
                variables=number(low, high, missing=str(low)),
                rows=tuple((x,) for x in range(low, high + 1)),
                size=2,
                released=released,
                is_tight=False,
            )

        return tuple(example(-1, high, is_pure) for high in (2, 3) for is_pure in (True, False))
