"""Two totals of each cell, from the lower bound up and from the upper bound down, which one row cannot both fill."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Aggregate, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.statistics._bounded_sum import mirrored_sum
from dalenius.statistics._example import Example, Rows, cells, group, number

__all__ = ["MirroredTotals"]

LIMIT = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredTotals:
    """Sum of (x - low) and sum of (high - x) over the rows that have x, in steps; together they tell total and count.

    Guarantee: with R = high - low a row adds two numbers that are not negative and whose sum is R. Where the query
    names a weight, both are multiplied by the row's own and R stands for high - low times `largest`, the largest
    weight; with `common` each row counts `multiple` times its weight plus `common`, and `largest` is the largest of
    these. A unit with c rows moves the table by at most c R in the l1 norm and in the l2 norm when it is added or
    removed; replaced, by 2 c R and sqrt(2) c R. A total and a count, each measured with half of the budget, would cost
    twice the variance under pure noise. Evidence: exhaustive neighbours on tiny data,
    tests/statistics/test_mirrored_totals.py.
    """

    query: TableQuery
    low: int
    high: int
    largest: int = 1
    multiple: int = 1
    common: int = 0
    lightest: int = 0

    def __post_init__(self) -> None:
        if self.high <= self.low:
            raise ParameterError("The bounds of a mean must differ.", name="bounds")

    @classmethod
    def of(cls, query: TableQuery, bounds: Bounds, *, largest: int = 1) -> "MirroredTotals":
        """For the cells of a query and the bounds of its variable; `largest` is the largest weight, where
        it names one.
        """
        return cls(
            query=replace(query, aggregate=Aggregate.TOTAL, centre=bounds.low),
            low=bounds.low,
            high=bounds.high,
            largest=largest,
        )

    @property
    def needs(self) -> tuple[TableQuery, ...]:
        """The total above the lower bound, and the rows that have the number; both without weights too, of rows that
        have one.
        """
        tables = (self.query, replace(self.query, aggregate=Aggregate.COUNT, centre=0))
        if not self.common:
            return tables
        has_weight = Filter(variable=str(self.query.weight), low=self.lightest)
        return tables + tuple(replace(table, weight=None, where=(*table.where, has_weight)) for table in tables)

    @property
    def space(self) -> CellSpace:
        """The cells, each twice."""
        space = self.query.space
        ends = Axis(variable=f"{self.query.value} from", labels=("the lower bound", "the upper bound"))
        zeros = frozenset((*cell, end) for cell in space.structural_zeros for end in (0, 1))
        return CellSpace((*space.axes, ends), zeros)

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        """Both totals from the exact total and the exact count."""
        above, count, *plain = (table.astype(object) for table in exact)
        if plain:
            above, count = (
                self.multiple * own + self.common * all_alike
                for own, all_alike in zip((above, count), plain, strict=True)
            )
        below = (self.high - self.low) * count - above
        both = np.stack([above, below], axis=-1).reshape(-1)
        fitting: IntArray = np.clip(both, -LIMIT, LIMIT).astype(np.int64)
        return fitting

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """From the width of the bounds."""
        open_cells = self.query.space.size - len(self.query.space.structural_zeros)
        return mirrored_sum(neighbours, cells=open_cells, width=(self.high - self.low) * self.largest)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Two cells, and rows that lack the number; weighted rows."""

        def released(rows: Rows) -> list[int]:
            return [
                sum(abs(x - end) for g, x in rows if g == cell and x is not None)
                for cell in ("a", "b")
                for end in (-1, 2)
            ]

        def weighted(rows: Rows) -> list[int]:
            return [
                sum(w * abs(x - end) for g, x, w in rows if g == cell and x is not None and w is not None)
                for cell in ("a", "b")
                for end in (-1, 2)
            ]

        def regular(rows: Rows) -> list[int]:
            return [
                sum((2 * w + 2) * abs(x - end) for g, x, w in rows if g == cell and x is not None and w is not None)
                for cell in ("a", "b")
                for end in (-1, 2)
            ]

        return (
            Example(
                statistic=cls(
                    query=TableQuery(space=cells("a", "b"), aggregate=Aggregate.TOTAL, value="x", centre=-1),
                    low=-1,
                    high=2,
                ),
                variables=group("a", "b") | number(-1, 2),
                rows=(("a", -1), ("a", 2), ("b", 0), ("b", 2), ("b", None)),
                released=released,
            ),
            Example(
                statistic=cls(
                    query=TableQuery(
                        space=cells("a", "b"), aggregate=Aggregate.TOTAL, value="x", centre=-1, weight="w"
                    ),
                    low=-1,
                    high=2,
                    largest=3,
                ),
                variables=group("a", "b") | number(-1, 2) | number(0, 3, name="w"),
                rows=(("a", -1, 3), ("a", 2, 1), ("b", 0, 3), ("b", 2, 3), ("b", 1, None)),
                released=weighted,
            ),
            Example(
                statistic=cls(
                    query=TableQuery(
                        space=cells("a", "b"), aggregate=Aggregate.TOTAL, value="x", centre=-1, weight="w"
                    ),
                    low=-1,
                    high=2,
                    largest=2 * 3 + 2,
                    multiple=2,
                    common=2,
                ),
                variables=group("a", "b") | number(-1, 2) | number(0, 3, name="w"),
                rows=(("a", -1, 3), ("a", 2, 0), ("b", 2, 3), ("b", 1, None)),
                released=regular,
            ),
        )
