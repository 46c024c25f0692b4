"""The largest, smallest, k-th largest or k-th smallest value of one numeric variable."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import ValuesQuery
from dalenius.errors import ParameterError
from dalenius.exact.order_statistics import Sorted, smooth_add_remove, smooth_replace
from dalenius.statistics._example import Example, of_values
from dalenius.statistics._order_statistic import OrderStatistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Extreme(OrderStatistic):
    """The value of the given rank from the top (or from the bottom), in steps.

    With fewer values than `rank` the answer is the declared bound at the other end.
    Guarantee: as for `Quantile`. The local sensitivity under replace of rank 2 and beyond does not depend on the
    declared bounds (Soria-Comas et al. 2017, 6.2.3: the second maximum in place of the maximum).
    Requires: one row to a unit for anything but the global value; under replace, no row may drop out of the list.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_order_statistics.py.
    References: Soria-Comas et al. (2017) 6.2, with beta in the exponent.
    """

    rank: int = 1
    is_largest: bool = True

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ParameterError(f"rank counts from 1; received {self.rank}.")

    def position(self, n: int) -> int:
        """Place in sorted order; outside 1..n if there are too few values."""
        return n - self.rank + 1 if self.is_largest else self.rank

    def answer(self, data: Sorted) -> int:
        return data.at(self.position(len(data)))

    def smooth(self, values: Sequence[int] | IntArray, base: Fraction, neighbours: Neighbours) -> Fraction:
        """The smooth sensitivity with exp(-beta) = base, at least one step.

        Exact under replace; a smooth upper bound under add-remove.
        """
        data = self.sorted_single(values, neighbours)
        m = self.position(len(data))
        if not neighbours.is_replace:
            return smooth_add_remove(data, m, base)
        if not 1 <= m <= len(data):
            # The answer is a declared bound whatever the values are, at every data set of this size.
            return Fraction(1)
        return smooth_replace(data, m, m, base)

    def bootstrap(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        """Largest change between neighbours of any size made of these values only, in steps.

        Under add-remove a smaller data set can have too few records: the answer is then the bound at the other end.
        Exact, but for add-remove with fewer than `rank` + 1 values, where it is the global value.
        """
        data = self.sorted(values)
        n = len(data)
        if not neighbours.is_replace and (n <= self.rank or not self.is_complete):
            return self.high - self.low
        if not n:
            return 0
        smallest, largest = int(data.values[0]), int(data.values[-1])
        if neighbours.is_replace:
            return largest - smallest
        return largest - self.low if self.is_largest else self.high - smallest

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        made = (
            cls(query=ValuesQuery(value="x"), low=0, high=4, rank=rank, is_largest=is_largest)
            for rank, is_largest in ((1, True), (2, True), (1, False))
        )
        return tuple(of_values(statistic) for statistic in made)
