"""What statistics that are a difference of two order statistics share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import ValuesQuery
from dalenius.errors import Unsupported
from dalenius.exact.order_statistics import (
    Sorted,
    local_of_difference,
    records_before,
    smooth_add_remove,
    smooth_replace,
)
from dalenius.statistics._example import Example, of_values
from dalenius.statistics._order_statistic import OrderStatistic, check_distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(OrderStatistic, ABC):
    """One order statistic less another, in steps; 0 if there are no values.

    Guarantee: as for `Quantile`; the smooth bound is the sum of those of the two ends (a sum of beta-smooth bounds
    is beta-smooth, and the difference moves by no more than both ends together).
    Requires: one row to a unit for anything but the global value; under replace, no row may drop out of the list.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_order_statistics.py.
    """

    @staticmethod
    @abstractmethod
    def lower(n: int) -> int:
        """Rank of the lower end among n values."""

    @staticmethod
    @abstractmethod
    def upper(n: int) -> int:
        """Rank of the upper end among n values."""

    def answer(self, data: Sorted) -> int:
        n = len(data)
        return data.at(self.upper(n)) - data.at(self.lower(n)) if n else 0

    def local(self, values: Sequence[int] | IntArray, neighbours: Neighbours, group: int = 1) -> int:
        data = self.sorted_single(values, neighbours)
        if group > 1:
            raise Unsupported("Groups are served for quantiles and extremes.")
        return local_of_difference(data, self.lower, self.upper, is_replace=neighbours.is_replace)

    def smooth(self, values: Sequence[int] | IntArray, base: Fraction, neighbours: Neighbours) -> Fraction:
        data = self.sorted_single(values, neighbours)
        n = len(data)
        ends = (self.lower(n), self.upper(n))
        if neighbours.is_replace:
            if not n:
                return Fraction(2)
            return sum((smooth_replace(data, m, m, base) for m in ends), Fraction(0))
        return sum((smooth_add_remove(data, m, base) for m in ends), Fraction(0))

    def distance(self, values: Sequence[int] | IntArray, bound: int, neighbours: Neighbours) -> int:
        """How many records can change before one more could move the answer by more than `bound`; never too large.

        A replaced record moves both ends the same way, by the bound each; one that is added or removed may move them
        towards each other, by half of the bound each.
        """
        check_distance(neighbours)
        data = self.sorted(values)
        each = bound if neighbours.is_replace and self.is_complete else bound // 2
        return min(records_before(data, rank(len(data)), each) for rank in (self.lower, self.upper))

    def bootstrap(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        data = self.sorted(values)
        n = len(data)
        if n < (2 if neighbours.is_replace else 1):
            return 0
        return int(data.values[-1] - data.values[0])

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (of_values(cls(query=ValuesQuery(value="x"), low=0, high=4)),)
