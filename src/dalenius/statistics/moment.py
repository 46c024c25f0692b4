"""A moment of each cell: one whole number made of each row's values, summed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import Bounds, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Aggregate, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics._bounded_sum import bounded_sum
from dalenius.statistics._example import Example, Rows, cells, group, number

__all__ = ["Moment"]

LIMIT = 2**62
# Sums of numbers below this cannot reach the limit at which engines stop counting, whatever the number of rows.
_NEVER_FULL = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A whole linear combination of exact tables, in which each row adds a number in [low, high] to one cell, or
    nothing.

    Guarantee: that of a table of totals whose rows add between `low` and `high`. Squares about a centre are shifted by
    half of the largest one, which halves what a row can add: the count, which is measured beside them, takes the shift
    back. Products are shifted in the same way by the second variable's centre. Evidence: exhaustive neighbours on tiny
    data, tests/statistics/test_moment.py.
    """

    needs: tuple[TableQuery, ...]
    coefficients: tuple[int, ...]
    low: int
    high: int
    is_complete: bool = False

    @property
    def query(self) -> TableQuery:
        """The first of the tables; `needs` are all of them."""
        return self.needs[0]

    @property
    def space(self) -> CellSpace:
        return self.query.space

    @classmethod
    def squares(cls, query: TableQuery, bounds: Bounds, *, is_complete: bool, is_shifted: bool = True) -> "Moment":
        """Sum of (x - centre)^2 - shift over the rows that have x, if they are shifted."""
        most = max(abs(bounds.low - query.centre), abs(bounds.high - query.centre)) ** 2
        shift = most // 2 if is_shifted else 0
        squared = replace(query, aggregate=Aggregate.SUM_OF_SQUARES)
        count = replace(query, aggregate=Aggregate.COUNT, centre=0)
        return cls(
            needs=(squared, count) if shift else (squared,),
            coefficients=(1, -shift) if shift else (1,),
            low=-shift,
            high=most - shift,
            is_complete=is_complete,
        )

    @classmethod
    def products(
        cls, query: TableQuery, bounds: Bounds, other: str, beside: Bounds, centre: int, *, is_complete: bool
    ) -> "Moment":
        """Sum of (x - centre of x)(y - `centre`) over the rows that have both."""
        both = replace(query, aggregate=Aggregate.TOTAL, where=(*query.where, Filter(variable=other, low=beside.low)))
        x, y = (
            [end - middle for end in (ends.low, ends.high)]
            for ends, middle in ((bounds, query.centre), (beside, centre))
        )
        corners = [a * b for a, b in product(x, y)]
        if max(abs(a) * max(abs(beside.low), abs(beside.high)) for a in x) >= _NEVER_FULL:
            # An engine that stopped counting products at its limit still moves the totals that are taken off them.
            corners += [-a * centre for a in x]
        return cls(
            needs=(replace(both, weight=other), both) if centre else (replace(both, weight=other),),
            coefficients=(1, -centre) if centre else (1,),
            low=min(corners),
            high=max(corners),
            is_complete=is_complete,
        )

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        """The answer from the exact tables; whole numbers of any size, cut to what fits, which moves none further
        apart.
        """
        total = np.zeros(self.space.size, dtype=object)
        for coefficient, table in zip(self.coefficients, exact, strict=True):
            total = total + coefficient * table.astype(object)
        return np.clip(total, -LIMIT, LIMIT).astype(np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """From what a row can add."""
        return bounded_sum(
            neighbours,
            cells=self.space.size - len(self.space.structural_zeros),
            low=self.low,
            high=self.high,
            is_complete=self.is_complete,
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Shifted squares in two cells, squares of a public number of rows, and products."""
        variables = group("a", "b") | number(-1, 3, missing="0")
        bounds, space = variables["x"].bounds, cells("a", "b")
        shifted = cls.squares(TableQuery(space=space, value="x", centre=1), bounds, is_complete=False)
        whole = cls.squares(
            TableQuery(space=CellSpace(()), value="x", centre=1), bounds, is_complete=True, is_shifted=False
        )
        pair = number(-1, 3, missing="0") | number(0, 2, name="y", missing="0")
        products = cls.products(
            TableQuery(space=CellSpace(()), value="x", centre=1),
            pair["x"].bounds,
            "y",
            pair["y"].bounds,
            1,
            is_complete=False,
        )

        def by_cell(rows: Rows) -> list[int]:
            return [sum((x - 1) ** 2 - 2 for g, x in rows if g == cell) for cell in ("a", "b")]

        return (
            Example(
                statistic=shifted, variables=variables, rows=(("a", 3), ("a", 1), ("b", -1), ("b", 1)), released=by_cell
            ),
            Example(
                statistic=whole,
                variables=number(-1, 3, missing="0"),
                rows=((-1,), (1,), (3,)),
                size=3,
                released=lambda rows: [sum((x - 1) ** 2 for (x,) in rows)],
                is_tight=False,
            ),
            Example(
                statistic=products,
                variables=pair,
                rows=((-1, 0), (3, 0), (3, 2), (1, 1)),
                released=lambda rows: [sum((x - 1) * (y - 1) for x, y in rows)],
            ),
        )
