"""A quantile (the median by default) of one numeric variable."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import ValuesQuery
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.order_statistics import Sorted, index_rule, records_before, smooth_add_remove, smooth_replace
from dalenius.statistics._example import Example, of_values
from dalenius.statistics._order_statistic import OrderStatistic, check_distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(OrderStatistic):
    """The smallest value with at least q n values up to it, in steps; the lower bound if there are no values.

    With `is_midpoint` (q = 1/2 only) it is the mean of the two middle values when n is even, in half steps.
    Guarantee: `sensitivity` is the width of the declared bounds; `local`, `smooth` and `bootstrap` are exact, or proved
    upper bounds where they say so.
    Requires: one row to a unit for anything but the global value; under replace, no row may drop out of the list.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_order_statistics.py.
    References: Nissim, Raskhodnikova & Smith (2007); Soria-Comas et al. (2017) 6.1, with beta in the exponent.
    """

    q: Fraction = Fraction(1, 2)
    is_midpoint: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise ParameterError(f"a quantile needs 0 < q < 1; received {self.q}. Use extreme for the ends.")
        if self.is_midpoint and self.q != Fraction(1, 2):
            raise ParameterError("The midpoint rule is for the median only.")

    @property
    def unit(self) -> int:
        return 2 if self.is_midpoint else 1

    def answer(self, data: Sorted) -> int:
        n = len(data)
        if self.is_midpoint:
            return data.at((n + 1) // 2) + data.at(n // 2 + 1) if n else 2 * self.low
        return data.at(index_rule(self.q, n))

    def smooth(self, values: Sequence[int] | IntArray, base: Fraction, neighbours: Neighbours) -> Fraction:
        """The smooth sensitivity with exp(-beta) = base, in 1 / unit steps; at least one of them.

        Exact under replace; a smooth upper bound under add-remove.
        """
        data = self.sorted_single(values, neighbours)
        n = len(data)
        if neighbours.is_replace:
            if self.is_midpoint and n % 2 == 0:
                return smooth_replace(data, n // 2, n // 2 + 1, base, spread=2)
            m = (n + 1) // 2 if self.is_midpoint else index_rule(self.q, n)
            return self.unit * smooth_replace(data, m, m, base)
        if self.is_midpoint:
            raise Unsupported("The smooth median under add-remove uses the lower median; drop is_midpoint.")
        return smooth_add_remove(data, index_rule(self.q, n), base)

    def distance(self, values: Sequence[int] | IntArray, bound: int, neighbours: Neighbours) -> int:
        """How many records can change before one more could move the answer by more than `bound` steps.

        Exact under replace where no row can drop out; never too large, and never apart by more than one between
        neighbours.
        """
        check_distance(neighbours, is_served=not self.is_midpoint)
        data = self.sorted(values)
        return records_before(data, index_rule(self.q, len(data)), bound)

    def bootstrap(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        data = self.sorted(values)
        n = len(data)
        if not neighbours.is_replace and not self.is_complete:
            # Rows that a filter leaves out can make up a whole data set: the list may be empty, the answer a bound.
            return self.unit * (self.high - self.low)
        if not n:
            return 0
        # The only record of a smaller data set can be removed; the answer is then the lower bound.
        lowest = int(data.values[0]) if neighbours.is_replace else self.low
        return self.unit * (int(data.values[-1]) - lowest)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        made = (
            cls(query=ValuesQuery(value="x"), low=0, high=4, q=q, is_midpoint=is_midpoint)
            for q, is_midpoint in ((Fraction(1, 2), False), (Fraction(1, 2), True), (Fraction(1, 4), False))
        )
        return tuple(of_values(statistic) for statistic in made)
