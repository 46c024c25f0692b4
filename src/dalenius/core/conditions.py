"""Conditions on rows, and what is taken of the rows of one person that meet them."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Rows whose value of a variable is among the codes (categories) or in [low, high] (numeric, in steps)."""

    variable: str
    codes: tuple[int, ...] = ()
    low: int | None = None
    high: int | None = None


class Take(StrEnum):
    ANY = "any"
    ALL = "all"
    MINIMUM = "min"
    MAXIMUM = "max"
    COUNT = "count"
    SUM = "sum"
    FIRST = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A column of persons: a function of the multiset of a person's rows in one table, never of their order in a file.

    `any` and `all`: whether some row, or every row, passes the conditions. `count`: how many do. `sum`, `min`, `max`:
    of the codes of the record `of` in the rows that pass and have one. `first`: the code of `of` in the row with the
    earliest `by`; rows without a day come after all others, and of rows of one day the smallest code counts. What a
    person's rows do not tell is missing; counts and sums of no row are 0.
    """

    take: Take
    of: str = ""
    where: tuple[Filter, ...] = ()
    by: str = ""
    table: str = ""

    @property
    def used(self) -> tuple[str, ...]:
        names = [name for name in (self.of, self.by) if name]
        return tuple(dict.fromkeys([*names, *(f.variable for f in self.where)]))
