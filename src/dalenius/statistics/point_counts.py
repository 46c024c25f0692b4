"""Records of each cell between released cuts, which may lie elsewhere in every cell: their number or their weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Query, RowsQuery, ValuesQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics._example import Example, Rows, cells, group, number
from dalenius.statistics._moves import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class PointCounts:
    """How many values of a cell lie below its first cut, between each two neighbouring cuts, and from its last cut on.

    Where rows count by weights from 0 to `heaviest`, the query lists cell, value and weight of each row. With a `grid`
    a row adds its squared weight in so many parts of the largest one, rounded up.

    Guarantee: cuts are public when the values are counted, so that a row is in one part of one cell and the parts move
    as the cells of a frequency table do: a unit with c rows moves them by at most c in both norms when it is added or
    removed, and by 2c and sqrt(2) c when it is replaced; times the largest weight, or the grid. Wherever the cuts lie,
    and if several fall together: the price does not depend on them. Requires: the engine keeps at most c rows of a
    unit; cuts that were released before; weights that are fixed. Evidence: exhaustive neighbours on tiny data,
    tests/statistics/test_point_counts.py.
    """

    queries: tuple[ValuesQuery | RowsQuery, ...]
    cells: CellSpace
    cuts: tuple[tuple[int, ...], ...]
    heaviest: int | None = None
    grid: int | None = None

    @property
    def query(self) -> ValuesQuery | RowsQuery:
        return self.queries[0]

    @property
    def needs(self) -> tuple[Query, ...]:
        return self.queries

    @property
    def space(self) -> CellSpace:
        parts = len(self.cuts[0]) + 1
        axis = Axis(variable="part", labels=tuple(f"part {k + 1}" for k in range(parts)))
        zeros = frozenset((*cell, k) for cell in self.cells.structural_zeros for k in range(parts))
        return CellSpace((*self.cells.axes, axis), zeros)

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        rows, impossible = [], set(self.cells.structural_indices)
        lists = self.query.by_cell(exact[0]) if isinstance(self.query, RowsQuery) else exact
        for cell, (listed, cuts) in enumerate(zip(lists, self.cuts, strict=True)):
            values, added = self._read(listed)
            below = np.searchsorted(values, np.array(cuts, dtype=np.int64))
            before = np.concatenate([[0], np.cumsum(added)])
            parts = np.diff(before[below], prepend=0, append=before[-1])
            rows.append(np.zeros_like(parts) if cell in impossible else parts)
        return np.concatenate(rows).astype(np.int64)

    def _read(self, listed: IntArray) -> tuple[IntArray, IntArray]:
        """Values in rising order, and what each of them adds."""
        if self.heaviest is None:
            return np.sort(listed, kind="stable"), np.ones(len(listed), dtype=np.int64)
        listed = listed[np.argsort(listed[:, 0], kind="stable")]
        values, weights = listed.T
        return values, self.added(weights)

    def added(self, weights: IntArray) -> IntArray:
        """What rows of these weights add."""
        if self.grid is None or self.heaviest is None:
            return weights
        return np.asarray(np.ceil(self.grid * np.minimum(weights / self.heaviest, 1.0) ** 2), dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        moved = counted(neighbours.max_rows, self.space.possible, is_replace=neighbours.is_replace)
        return moved if self.heaviest is None else moved.times(self.grid or self.heaviest)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        listed = ValuesQuery(value="x")

        def parted(cuts: tuple[int, ...]) -> Example:
            statistic = cls(queries=(listed,), cells=CellSpace(()), cuts=(cuts,))

            def released(rows: Rows) -> list[int]:
                values = np.array([row[0] for row in rows if row[0] is not None], dtype=np.int64)
                return [int(count) for count in statistic.combine([values])]

            return Example(statistic, number(0, 3), ((0,), (1,), (3,), (None,)), released=released)

        def weighted(**more: Any) -> Example:
            space = cells("a", "b")
            query = RowsQuery(variables=("x", "w"), space=space)
            statistic = cls(queries=(query,), cells=space, cuts=((1, 2), (0, 1)), heaviest=3, **more)

            def released(rows: Rows) -> list[int]:
                lines = sorted((("a", "b").index(g), x, w) for g, x, w in rows)
                return [int(s) for s in statistic.combine([np.array(lines, dtype=np.int64).reshape(-1, 3)])]

            return Example(
                statistic,
                group("a", "b") | number(0, 2, missing="0") | number(0, 3, name="w", missing="0"),
                (("a", 0, 3), ("a", 2, 1), ("b", 0, 3)),
                released=released,
            )

        return parted((1, 2)), parted((0, 2, 2)), weighted(), weighted(grid=4)
