"""What each row adds to its cell: one, a bounded whole number of steps, or either times the row's own weight.

A row that adds v steps moves everything that is linear in counts by v times as much. A row that is added or removed
moves it by at most M = max |v| times what a counted row does. Under replace two rows add v and -u with v, u between the
bounds or 0. The squared shift is convex in (v, u), so that it is largest at the corners: M^2 times the pair of counted
rows where the signs agree, and at most (high - low)^2 times one counted row where they differ, which two values in the
same cell reach.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from dalenius.core.conditions import Filter
from dalenius.core.domain import Bounds, CellSpace
from dalenius.core.query import Aggregate, TableQuery
from dalenius.errors import TooLarge

MOST_SCALED = 2**31
"""Largest number that one row may add to an integer array: 2^32 rows then stay inside 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """A whole number of steps in [low, high], less `centre`; a row without a value adds nothing.

    Where `weight` names a variable each row adds that times its weight, a whole number in `weights`; a row without a
    weight adds nothing.
    """

    value: str
    low: int
    high: int
    step: Fraction = Fraction(1)
    centre: int = 0
    aggregate: Aggregate = Aggregate.TOTAL
    weight: str | None = None
    weights: tuple[int, int] = (1, 1)

    @classmethod
    def counting(cls, value: str) -> "Amounts":
        """One for each row that has a value."""
        return cls(value=value, low=1, high=1, aggregate=Aggregate.COUNT)

    @classmethod
    def of(cls, value: str, bounds: Bounds, centre: int = 0) -> "Amounts":
        return cls(value=value, low=bounds.low, high=bounds.high, step=bounds.step, centre=centre)

    @classmethod
    def squared(cls, weight: str, bounds: Bounds) -> "Amounts":
        """The square of a variable that is not negative."""
        return cls(
            value=weight,
            low=bounds.low**2,
            high=bounds.high**2,
            step=bounds.step**2,
            aggregate=Aggregate.SUM_OF_SQUARES,
        )

    def times(self, weight: str, bounds: Bounds) -> "Amounts":
        """The same, multiplied by each row's weight."""
        return replace(self, step=self.step * bounds.step, weight=weight, weights=(bounds.low, bounds.high))

    @property
    def measure(self) -> str:
        """What tables of them show."""
        if self.aggregate is Aggregate.SUM_OF_SQUARES:
            return "squared weights"
        if self.aggregate is not Aggregate.COUNT:
            return "total"
        return "count" if self.weight is None else "weighted count"

    @property
    def is_plain_count(self) -> bool:
        """Whether each row adds one."""
        return self.aggregate is Aggregate.COUNT and self.weight is None

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the most that a row may add."""
        corners = [w * (x - self.centre) for w in self.weights for x in (self.low, self.high)]
        return min(corners), max(corners)

    @property
    def largest(self) -> int:
        """M: the most that one row moves a cell when it is added or removed."""
        return max(abs(end) for end in self.ends)

    @property
    def span(self) -> int:
        """The most that one row moves a cell when it is replaced."""
        low, high = self.ends
        return max(high, 0) - min(low, 0)

    def query(self, space: CellSpace, where: tuple[Filter, ...]) -> TableQuery:
        """The exact totals, or counts of the rows that have a value (of all rows where none is named)."""
        return TableQuery(
            space=space,
            where=where,
            aggregate=self.aggregate,
            value=self.value or None,
            centre=self.centre,
            weight=self.weight,
        )

    def cost(self, counted: Fraction, alone: Fraction, *, is_replace: bool) -> Fraction:
        """The price of a list of these amounts, from that of counts for the worst neighbours and for one added row."""
        paid = self.largest**2 * counted
        return max(paid, self.span**2 * alone) if is_replace else paid

    def check(self, cells: int) -> None:
        """Refuse arrays that are scaled by so many cells where a file of billions of rows could leave 64 bits."""
        if self.largest * cells > MOST_SCALED:
            raise TooLarge(
                f"One row may add {self.largest:,} steps of {self.value or self.weight!r}, which is too much for "
                f"components of {cells:,} cells; a wider step of its bounds helps.",
                received=self.largest * cells,
                limit=MOST_SCALED,
            )
