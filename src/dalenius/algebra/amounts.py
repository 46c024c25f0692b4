"""What each row adds to its cell: one, a number of steps, or either times its weight (docs/explanation/margins.md)."""

from dataclasses import dataclass, replace
from fractions import Fraction

from dalenius.core.conditions import Filter
from dalenius.core.domain import Bounds, CellSpace
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.errors import TooLarge

MOST_SCALED = 2**31
"""Largest number that one row may add to an integer array: 2^32 rows then stay inside 64 bits."""
MOST_ADDED = 2**24
"""What one row adds to a measured sum is at most this; wider amounts are halved until it is."""
_FINENESS = 8
"""One row adds at least so many units for each fitted cell of which a total is made, so that rounding all of them the
same way moves it by less than a sixteenth of what one row does.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """A whole number in [low, high] that each row adds by a row function; one that lacks a variable adds nothing.

    `step` is what one is worth, and `measure` what tables of them show. Sums are halved so many times as `halvings`
    says, and all other fields are of halved sums.
    """

    function: RowFunction
    low: int
    high: int
    step: Fraction = Fraction(1)
    measure: str = "total"
    halvings: int = 0

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
        return self.low == self.high == 1

    @property
    def ends(self) -> tuple[int, int]:
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
        return TableQuery(space=space, where=where, function=self.function, halvings=self.halvings)

    def fitted(self, cells: int = 1) -> "Amounts":
        """The same amounts, halved until a row adds little enough to be measured, in components of so many cells."""
        most = max(min(MOST_ADDED, MOST_SCALED // cells), 1)
        return self.halved((-(-self.largest // most) - 1).bit_length() if self.largest > most else 0)

    def halved(self, halvings: int) -> "Amounts":
        """The same amounts, of sums that are halved so many times more."""
        return replace(
            self,
            low=self.low >> halvings,
            high=-(-self.high >> halvings),
            step=self.step * 2**halvings,
            halvings=self.halvings + halvings,
        )

    def cost(self, counted: Fraction, alone: Fraction, *, is_replace: bool) -> Fraction:
        """The price of a list of these amounts, from that of counts for the worst neighbours and for one added row."""
        most = self.largest
        paid = most**2 * counted
        if not is_replace:
            return paid
        paid = max(paid, self.span**2 * alone)
        return paid * Fraction(most + 1, most) + 4 * (most + 1) * alone if self.halvings else paid

    def check(self, cells: int) -> None:
        """Refuse arrays that are scaled by so many cells where a file of billions of rows could leave 64 bits."""
        if self.largest * cells > MOST_SCALED:
            raise TooLarge(
                f"One row may add {self.largest:,} steps of {' and '.join(self.function.variables)!r}, too much "
                f"for components of {cells:,} cells; a wider step of its bounds helps.",
                received=self.largest * cells,
                limit=MOST_SCALED,
            )

    def check_rounding(self, leaves: int) -> None:
        """Refuse totals of so many halved sums that their rounding could be seen beside what one row adds."""
        if self.halvings and leaves * _FINENESS > self.largest:
            raise TooLarge(
                f"Sums of {' and '.join(self.function.variables)!r} in {leaves:,} cells would be rounded too much; a "
                "wider step of its bounds helps.",
                received=leaves,
                limit=self.largest // _FINENESS,
            )
