"""Number of rows in each cell of a declared table."""

from dataclasses import dataclass

from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics._example import Example, cells, group
from dalenius.statistics._moves import counted, reachable

__all__ = ["Count"]


@dataclass(frozen=True, slots=True)
class Count:
    """A frequency table.

    Guarantee: a unit with at most c rows moves the table by at most c in the l1 norm when it is added or removed, and
    by at most 2c when it is replaced (c if the table has a single cell). No total is taken as public: a filter, a
    dropped value or a structural zero can take a row out of the table. A row that keeps its publicly known attributes
    moves among the cells of the other ones: by 2, by 1 where they are one cell, and not at all where everything that is
    asked of it is public. Requires: the engine keeps at most c rows of a unit. Evidence: exhaustive neighbours in
    tests/statistics/test_count.py.
    """

    query: TableQuery

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Norms, and the extreme patterns while there are few rows to a unit."""
        return counted(neighbours.max_rows, reachable(self.query, neighbours), is_replace=neighbours.is_replace)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Three cells, one cell, a structural zero; rows that drop out."""
        three, rows = group("a", "b", "c"), (("a",), ("b",), ("c",), (None,))
        return (
            Example(statistic=cls(TableQuery(space=cells("a", "b", "c"))), variables=three, rows=rows),
            Example(statistic=cls(TableQuery(space=cells("a"))), variables=group("a"), rows=(("a",), (None,))),
            Example(
                statistic=cls(TableQuery(space=cells("a", "b", "c", zeros=frozenset({(1,)})))),
                variables=three,
                rows=rows,
            ),
        )
