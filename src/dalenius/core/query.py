"""The closed grammar of exact aggregates that a measurement may need and an engine must fetch.

Integers only: totals are sums of declared steps. The grammar is small on purpose: each member has a sensitivity
that can be stated and brute-forced.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from math import isqrt

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace
from dalenius.errors import ParameterError


class Aggregate(StrEnum):
    """What is computed of the rows in a cell."""

    COUNT = "count"
    PERSONS = "persons"
    TOTAL = "total"
    SUM_OF_SQUARES = "sum of squares"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    LARGEST_ABSOLUTE = "largest absolute"


class Norm(StrEnum):
    L1 = "l1"
    L2 = "l2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """What a unit adds to all cells together is scaled down until its norm is at most `limit`; both in parts of a step.

    A step has `fineness` parts. With x_i steps in cell i, the norm over all cells of the space (impossible ones too),
    and z = |x_i| * fineness: a unit whose norm is within the limit adds x_i * fineness, any other floor(z * limit /
    norm) with the sign of x_i. The floor takes each cell towards zero, so that the norm of what is added never exceeds
    the limit.
    """

    norm: Norm
    limit: int
    fineness: int = 1

    def __post_init__(self) -> None:
        if self.limit < 1 or self.fineness < 1:
            raise ParameterError("A clip is at least one part of a step.", name="clip")

    def size(self, steps: Iterable[int]) -> int:
        """The norm of a unit in steps: the sum of absolute values, or the sum of squares."""
        return sum(abs(x) if self.norm is Norm.L1 else x * x for x in steps)

    @property
    def most(self) -> int:
        """The largest size of a unit that is left as it is."""
        if self.norm is Norm.L1:
            return self.limit // self.fineness
        return self.limit**2 // self.fineness**2

    def clipped(self, steps: int, size: int) -> int:
        """What a unit of this size adds to a cell in which it has so many steps."""
        if size <= self.most:
            return steps * self.fineness
        if self.norm is Norm.L1:
            parts = abs(steps) * self.limit // size
        else:
            # The floor of a root is the root of the floor.
            parts = isqrt(steps * steps * self.limit**2 // size)
        return parts if steps > 0 else -parts


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """One exact aggregate for every cell of a space, empty cells included, in declared order.

    The number of persons counts each unit once in a cell, however many rows it has there; where rows are units, it is
    their number. `clip` bounds what a unit adds to all cells of a count or total together; the answer is then in parts
    of a step. `value` names the numeric variable of a total (of a count: only rows that have it are counted); `centre`
    (in steps) is subtracted from each value first; `weight` names a numeric variable by which each row counts.
    """

    space: CellSpace
    where: tuple[Filter, ...] = ()
    aggregate: Aggregate = Aggregate.COUNT
    value: str | None = None
    centre: int = 0
    weight: str | None = None
    clip: Clip | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesQuery:
    """The values of one numeric variable, in steps, sorted, one for each row that passes the filters."""

    value: str
    where: tuple[Filter, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsQuery:
    """Several numeric variables, in steps: a line for each row that passes the filters and has them all, sorted.

    With `space` each line begins with the number of the row's cell, and rows outside the table are left out.
    """

    variables: tuple[str, ...]
    where: tuple[Filter, ...] = field(default=())
    space: CellSpace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsQuery:
    """The undeclared texts of a variable with numbers of units; a unit counts in at most `most` of them.

    The one aggregate whose cells come from the data. It may feed a selection that is priced for this, and nothing else.
    """

    variable: str
    most: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SizesQuery:
    """How many units each of several clips, smallest first, is the first to leave as they are, and how many none does.

    A unit with no row that counts in the table is in none of these numbers. All clips have the norm of the table's own.
    """

    table: TableQuery
    clips: tuple[Clip, ...]


# Texts in the order of their code points, each with a number of units.
Labels = tuple[tuple[str, int], ...]
Query = TableQuery | ValuesQuery | RowsQuery | LabelsQuery | SizesQuery
