"""Number of records of each cell between released cuts, which may lie elsewhere in every cell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Query, ValuesQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics._counted import counted
from dalenius.statistics._example import Example, Rows, number

__all__ = ["PointCounts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointCounts:
    """How many values of a cell lie below its first cut, between each two neighbouring cuts, and from its last cut on.

    Guarantee: cuts are public when the values are counted, so that a row is in one part of one cell and the parts move
    as the cells of a frequency table do: a unit with c rows moves them by at most c in both norms when it is added or
    removed, and by 2c and sqrt(2) c when it is replaced. Wherever the cuts lie, and if several fall together: the price
    does not depend on them. Requires: the engine keeps at most c rows of a unit; cuts that were released before.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_point_counts.py.
    """

    queries: tuple[ValuesQuery, ...]
    cells: CellSpace
    cuts: tuple[tuple[int, ...], ...]

    @property
    def query(self) -> ValuesQuery:
        """The values of the first cell."""
        return self.queries[0]

    @property
    def needs(self) -> tuple[Query, ...]:
        """The sorted values of each cell."""
        return self.queries

    @property
    def space(self) -> CellSpace:
        """The cells, each in its parts."""
        parts = len(self.cuts[0]) + 1
        axis = Axis(variable="part", labels=tuple(f"part {k + 1}" for k in range(parts)))
        zeros = frozenset((*cell, k) for cell in self.cells.structural_zeros for k in range(parts))
        return CellSpace((*self.cells.axes, axis), zeros)

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        """Counts between cuts; structural zeros hold nobody."""
        rows, impossible = [], set(self.cells.structural_indices)
        for cell, (values, cuts) in enumerate(zip(exact, self.cuts, strict=True)):
            below = np.searchsorted(np.sort(values, kind="stable"), np.array(cuts, dtype=np.int64))
            parts = np.diff(below, prepend=0, append=len(values))
            rows.append(np.zeros_like(parts) if cell in impossible else parts)
        return np.concatenate(rows).astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """That of counts in as many cells, wherever the cuts will lie."""
        return counted(neighbours.max_rows, self.space.possible, is_replace=neighbours.is_replace)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """One list with cuts inside it, two of them in one place; values that are missing."""
        listed = ValuesQuery(value="x")

        def parted(cuts: tuple[int, ...]) -> Example:
            statistic = cls(queries=(listed,), cells=CellSpace(()), cuts=(cuts,))

            def released(rows: Rows) -> list[int]:
                values = np.array([row[0] for row in rows if row[0] is not None], dtype=np.int64)
                return [int(count) for count in statistic.combine([values])]

            return Example(
                statistic=statistic, variables=number(0, 3), rows=((0,), (1,), (3,), (None,)), released=released
            )

        return parted((1, 2)), parted((0, 2, 2))
