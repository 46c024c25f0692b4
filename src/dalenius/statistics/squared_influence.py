"""Sums of squared influences of each cell: what the sampling error of a covariance or a correlation needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from dalenius.algebra.influence import GRID, InfluenceRows
from dalenius.core.domain import CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import RowsQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics._example import Example, Rows, cells, group, number
from dalenius.statistics._moves import bounded_sum

# Rows that are added up at once: such sums are exact as doubles.
_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredInfluence:
    """Sum of h^2 over the rows of each cell, in parts of its largest h^2 by the declared bounds, rounded up row by row.

    Guarantee: a row adds a whole number from 0 to `grid` to one cell, or nothing, whatever the numbers of `rows` are:
    they come from an earlier answer, and what a row can add does not depend on them. Evidence: exhaustive
    neighbours on tiny data, tests/statistics/test_squared_influence.py.
    """

    rows: InfluenceRows
    is_complete: bool = False
    grid: int = GRID

    @property
    def query(self) -> RowsQuery:
        return self.rows.query

    @property
    def needs(self) -> tuple[RowsQuery]:
        return (self.query,)

    @property
    def space(self) -> CellSpace:
        assert self.query.space is not None
        return self.query.space

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        (rows,) = exact
        sums = np.zeros(self.space.size, dtype=np.int64)
        for first in range(0, len(rows), _AT_ONCE):
            cell, shares = self.rows.shares(rows[first : first + _AT_ONCE])
            added = np.ceil(self.grid * shares**2)
            sums += np.bincount(cell, weights=added, minlength=len(sums)).astype(np.int64)
        sums[list(self.space.structural_indices)] = 0
        return sums

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        possible, is_complete = self.space.possible, self.is_complete
        return bounded_sum(neighbours, cells=possible, low=0, high=self.grid, is_complete=is_complete)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        pair = number(-1, 3, missing="0") | number(0, 2, name="y", missing="0")
        space, terms = cells("a", "b"), ((0, 2), (1, 1), (2, 0))
        two, three = (
            RowsQuery(variables=("x", "y"), space=space),
            RowsQuery(variables=("x", "y", "w"), space=CellSpace(())),
        )
        middles, influence = ((1.0, 1.0, 0.0, 1.0, 0.0, 2.0),) * 2, ((0.5, 1.25, -0.25, 1.0, -0.5, 16.0),)
        by_group = cls(rows=InfluenceRows(query=two, exponents=terms, points=middles), grid=8)
        of_all = cls(rows=InfluenceRows(query=three, exponents=terms, points=influence, weight=(1, 1)), grid=64)

        def of_row(x: int, y: int, w: int) -> int:
            h = (x - 0.5) * (y - 1.25) - 0.5 * (x - 0.5) ** 2 - 0.25 * (y - 1.25) ** 2
            return ceil(64 * min(((w + 1) * h / 16) ** 2, 1))

        def by_cell(rows: Rows) -> list[int]:
            return [sum(2 * ((x - 1) * (y - 1)) ** 2 for g, x, y in rows if g == cell) for cell in ("a", "b")]

        return (
            Example(by_group, group("a", "b") | pair, (("a", 3, 0), ("a", 1, 1), ("b", -1, 2)), released=by_cell),
            Example(
                of_all,
                pair | number(0, 1, name="w", missing="0"),
                ((-1, 0, 1), (3, 0, 0), (3, 2, 1), (1, 1, 0)),
                released=lambda rows: [sum(of_row(x, y, w) for x, y, w in rows)],
                is_tight=False,
            ),
        )
