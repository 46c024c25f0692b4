"""The closed grammar of exact aggregates that a measurement may need and an engine must fetch.

Integers only: totals are sums of declared steps. The grammar is small on purpose: each member has a sensitivity
that can be stated and brute-forced.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from dalenius.core.domain import CellSpace


class Aggregate(StrEnum):
    """What is computed of the rows in a cell."""

    COUNT = "count"
    TOTAL = "total"
    SUM_OF_SQUARES = "sum of squares"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    LARGEST_ABSOLUTE = "largest absolute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Rows whose value of a variable is among the codes (categories) or in [low, high] (numeric, in steps)."""

    variable: str
    codes: tuple[int, ...] = ()
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """One exact aggregate for every cell of a space, empty cells included, in declared order.

    `value` names the numeric variable of a total (of a count: only rows that have it are counted); `centre` (in steps) is subtracted from each value first;
    `weight` names a numeric variable by which each row counts.
    """

    space: CellSpace
    where: tuple[Filter, ...] = ()
    aggregate: Aggregate = Aggregate.COUNT
    value: str | None = None
    centre: int = 0
    weight: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesQuery:
    """The values of one numeric variable, in steps, sorted, one for each row that passes the filters."""

    value: str
    where: tuple[Filter, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsQuery:
    """The texts of a variable that are not declared, each with the number of units that have it; a unit counts in at most `most` of them.

    The one aggregate whose cells come from the data. It may feed a selection that is priced for this, and nothing else.
    """

    variable: str
    most: int = 1


# Texts in the order of their code points, each with a number of units.
Labels = tuple[tuple[str, int], ...]
Query = TableQuery | ValuesQuery | LabelsQuery
