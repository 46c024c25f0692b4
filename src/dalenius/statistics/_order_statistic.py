"""What order statistics of one variable share, and whose change their sensitivities at the data are about."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dalenius.core.conditions import Filter
from dalenius.core.domain import Domain
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import ValuesQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported
from dalenius.exact.order_statistics import Sorted, local_of_monotone, prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderStatistic(ABC):
    """A function of the sorted values between declared bounds; `is_complete` says that no row can drop out."""

    query: ValuesQuery
    low: int
    high: int
    is_complete: bool = True

    @classmethod
    def of(cls, domain: Domain, name: str, where: tuple[Filter, ...] = (), **own: Any) -> Self:
        """For a declared variable; `own` are the fields of the statistic itself."""
        bounds = domain.variable(name).bounds
        is_complete = not where and bounds.keeps_every_value
        query = ValuesQuery(value=name, where=where)
        return cls(query=query, low=bounds.low, high=bounds.high, is_complete=is_complete, **own)

    @property
    def unit(self) -> int:
        """Answers are whole multiples of 1 / unit steps."""
        return 1

    @abstractmethod
    def answer(self, data: Sorted) -> int:
        """The exact answer to sorted values, in 1 / unit steps."""

    def sorted(self, values: Sequence[int] | IntArray) -> Sorted:
        return prepare(values, self.low, self.high)

    def sorted_single(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> Sorted:
        """The sorted values; refuses neighbours for which the change of one value is not the whole change."""
        if neighbours.max_rows > 1:
            raise Unsupported("Local and smooth sensitivities are for one row to a unit.")
        if neighbours.is_replace and not self.is_complete:
            raise Unsupported(
                "Under replace a row may leave the list (a filter, a missing value or one outside the bounds): declare"
                " what replaces it, or use add-remove."
            )
        return self.sorted(values)

    def value(self, values: Sequence[int] | IntArray) -> int:
        return self.answer(self.sorted(values))

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """The width of the bounds: one unit can move any order statistic from end to end."""
        return Sensitivity.of_patterns((((self.high - self.low) * self.unit,),))

    def local(self, values: Sequence[int] | IntArray, neighbours: Neighbours, group: int = 1) -> int:
        """Largest change that one record (up to `group` records) can make, exactly, in 1 / unit steps."""
        data = self.sorted_single(values, neighbours)
        return local_of_monotone(data, self.answer, is_replace=neighbours.is_replace, group=group)

    @abstractmethod
    def smooth(self, values: Sequence[int] | IntArray, base: Fraction, neighbours: Neighbours) -> Fraction:
        """A smooth bound of the local sensitivity with exp(-beta) = base, in 1 / unit steps."""

    @abstractmethod
    def bootstrap(self, values: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        """Largest change between neighbours of any size made of these values only, in 1 / unit steps."""


def check_distance(neighbours: Neighbours, *, is_served: bool = True) -> None:
    """Refuse neighbours for whom changed records are not changed units."""
    if neighbours.max_rows > 1:
        raise Unsupported("How many records can change is counted for one row to a unit.")
    if not is_served:
        raise Unsupported("Distances are served for the lower median; drop is_midpoint.")
