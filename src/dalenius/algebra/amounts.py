"""What each row adds to its cell: one, a bounded whole number of steps, or either times the row's own weight.

A row that adds v steps moves everything that is linear in counts by v times as much. A row that is added or removed
moves it by at most M = max |v| times what a counted row does. Under replace two rows add v and -u with v, u between the
bounds or 0. The squared shift is convex in (v, u), so that it is largest at the corners: M^2 times the pair of counted
rows where the signs agree, and at most (high - low)^2 times one counted row where they differ, which two values in the
same cell reach.
"""

from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.conditions import Filter
from dalenius.core.domain import Bounds, CellSpace
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.errors import TooLarge

MOST_SCALED = 2**31
"""Largest number that one row may add to an integer array: 2^32 rows then stay inside 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """A whole number in [low, high] that each row adds by a row function; one that lacks a variable adds nothing.

    `step` is what one is worth, and `measure` what tables of them show.
    """

    function: RowFunction
    low: int
    high: int
    step: Fraction = Fraction(1)
    measure: str = "total"

    @classmethod
    def counting(cls, value: str) -> "Amounts":
        """One for each row that has a value."""
        return cls(function=RowFunction.present(value), low=1, high=1, measure="count")

    @classmethod
    def of(cls, value: str, bounds: Bounds, centre: int = 0) -> "Amounts":
        function = RowFunction.of(Power(value, offset=-centre))
        return cls(function=function, low=bounds.low - centre, high=bounds.high - centre, step=bounds.step)

    @classmethod
    def weights(cls, weight: str, bounds: Bounds, power: int = 1) -> "Amounts":
        """Each row's weight, or its square."""
        return cls(
            function=RowFunction.of(Power(weight, exponent=power)),
            low=bounds.low**power,
            high=bounds.high**power,
            step=bounds.step**power,
            measure="weighted count" if power == 1 else "squared weights",
        )

    @property
    def is_plain_count(self) -> bool:
        """Whether each row adds one."""
        return self.low == self.high == 1

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the most that a row may add."""
        return self.low, self.high

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
        """The exact sums."""
        return TableQuery(space=space, where=where, function=self.function)

    def cost(self, counted: Fraction, alone: Fraction, *, is_replace: bool) -> Fraction:
        """The price of a list of these amounts, from that of counts for the worst neighbours and for one added row."""
        paid = self.largest**2 * counted
        return max(paid, self.span**2 * alone) if is_replace else paid

    def check(self, cells: int) -> None:
        """Refuse arrays that are scaled by so many cells where a file of billions of rows could leave 64 bits."""
        if self.largest * cells > MOST_SCALED:
            raise TooLarge(
                f"One row may add {self.largest:,} steps of {' and '.join(self.function.variables)!r}, too much "
                f"for components of {cells:,} cells; a wider step of its bounds helps.",
                received=self.largest * cells,
                limit=MOST_SCALED,
            )
