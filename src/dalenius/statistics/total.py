"""The total of one numeric variable over all rows that pass the filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported
from dalenius.statistics._example import Example, Rows, number

__all__ = ["Total"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A sum of declared steps; each row adds a number in [low, high], or nothing if it drops out.

    Guarantee: a unit with at most c rows moves the total by at most c max(|low|, |high|) when it is added or removed.
    Replaced: high - low if it has exactly one row that cannot drop out, otherwise c (max(high, 0) - min(low, 0)).
    Requires: the engine clamps or drops values outside the bounds and keeps at most c rows of a unit.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_totals.py. Smooth equals global.
    References: O'Keefe & Charest (2018) 5.2, with the rows outside the cell counted as zero.
    """

    query: TableQuery
    low: int
    high: int
    is_complete: bool = False

    @classmethod
    def of(cls, domain: Domain, name: str, where: tuple[Filter, ...] = (), centre: int = 0) -> "Total":
        """For a declared variable; `centre` (in steps) is subtracted from each value."""
        bounds = domain.variable(name).bounds
        function = RowFunction.of(Power(name, offset=-centre))
        query = TableQuery(space=CellSpace(()), where=where, function=function)
        return cls(
            query=query,
            low=bounds.low - centre,
            high=bounds.high - centre,
            is_complete=not where and bounds.keeps_every_value,
        )

    def value(self, values: Sequence[int] | IntArray) -> int:
        """The exact sum of the values of the rows that pass."""
        return sum(int(v) for v in values)

    def _reach(self, neighbours: Neighbours) -> int:
        if not neighbours.is_replace:
            return max(abs(self.low), abs(self.high))
        if self.is_complete and neighbours.max_rows == 1:
            return self.high - self.low
        return max(self.high, 0) - min(self.low, 0)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        return Sensitivity.of_patterns(((neighbours.max_rows * self._reach(neighbours),),))

    def local(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        """Largest change that one record can make to this total.

        Exact; where rows may drop out, exact for a file that has such a row.
        """
        if neighbours.max_rows > 1:
            raise Unsupported("Local sensitivities are for one row to a unit.")
        if not neighbours.is_replace:
            return self._reach(neighbours)
        numbers = [int(v) for v in values]
        if self.is_complete:
            return max((max(self.high - v, v - self.low) for v in numbers), default=0)
        top, bottom = max(self.high, 0), min(self.low, 0)
        return max(max(top - v, v - bottom) for v in [*numbers, 0])

    def smooth(self, values: Sequence[int] | IntArray, base: Fraction, neighbours: Neighbours) -> Fraction:
        """The global value: data at distance one can already have it, and it is constant."""
        return Fraction(max(1, int(self.sensitivity(neighbours).l1)))

    def bootstrap(self, values: Sequence[int] | IntArray, neighbours: Neighbours, declared: Sequence[int] = ()) -> int:
        """Largest change between neighbours made of these values (and of declared further ones) only.

        Exact for a complete total. Otherwise rows that are outside the total count as zero: exact if there is one.
        """
        numbers = np.concatenate((np.asarray(values, dtype=np.int64), np.asarray(declared, dtype=np.int64)))
        if not len(numbers):
            return 0
        top, bottom = int(numbers.max()), int(numbers.min())
        if not neighbours.is_replace:
            return max(abs(top), abs(bottom))
        return top - bottom if self.is_complete else max(top, 0) - min(bottom, 0)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Numbers of both signs with rows that drop out, and a complete total away from zero."""

        def values(rows: Rows) -> tuple[list[int]]:
            return ([row[0] or 0 for row in rows],)

        query = TableQuery(space=CellSpace(()), function=RowFunction.of(Power("x")))
        return (
            Example(
                statistic=cls(query=query, low=-2, high=3),
                variables=number(-2, 3),
                rows=((-2,), (3,), (None,)),
                arguments=values,
            ),
            # A person has at least one row, so that a replaced one moves a complete total by less than is declared.
            Example(
                statistic=cls(query=query, low=1, high=3, is_complete=True),
                variables=number(1, 3, missing="1"),
                rows=((1,), (3,)),
                arguments=values,
                is_tight=False,
            ),
        )
