"""Sums of values that are cut to two chosen bounds inside the declared ones: totals, squares, and how many values were
cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dalenius.algebra import clipping
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Aggregate, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.statistics._bounded_sum import bounded_sum, mirrored_sum
from dalenius.statistics._example import Example, Rows, cells, group, number

__all__ = ["ClippedSums"]

LIMIT = 2**62
Kind = Literal["totals", "total", "squares", "clipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedSums:
    """Sums over the rows that have x, of y = x cut to [low, high], in steps; `query` names x and its cells.

    totals   sum of (y - low) and of (high - y), which one row cannot both fill total    sum of (y - low) of a public
    number of rows squares  sum of (y - middle)^2 - shift; no shift for a public number of rows clipped  number of rows
    with x < low, and with x > high

    All are multiplied by `factor`.

    Guarantee: what the same sums have of a variable whose declared bounds are `low` and `high`; a row is in at most one
    of the two numbers of clipped rows. Engines are asked for rows below, inside and above the bounds, so that no row is
    read one by one. Evidence: exhaustive neighbours on tiny data, tests/statistics/test_clipped_sums.py.
    """

    query: TableQuery
    low: int
    high: int
    floor: int
    ceiling: int
    kind: Kind
    factor: int = 1

    def __post_init__(self) -> None:
        if not self.floor <= self.low < self.high <= self.ceiling:
            raise ParameterError("Chosen bounds rise, inside the declared ones.", name="bounds")

    @property
    def middle(self) -> int:
        """The centre of the chosen bounds."""
        return clipping.middle(self.low, self.high)

    @property
    def shift(self) -> int:
        """What is taken off every square."""
        return clipping.square_shift(self.low, self.high)

    def cut_to(self, low: int, high: int) -> "ClippedSums":
        """The same sums between narrower bounds, multiplied so that a row moves no number further than before."""
        kind = "totals" if self.kind == "total" else self.kind
        many = clipping.factor(kind, (self.low, self.high), self.factor, low, high)
        return replace(self, low=low, high=high, factor=many)

    def _inside(self, aggregate: Aggregate, centre: int, low: int, high: int) -> TableQuery:
        between = Filter(variable=str(self.query.value), low=low, high=high)
        return replace(self.query, aggregate=aggregate, centre=centre, where=(*self.query.where, between))

    @property
    def needs(self) -> tuple[TableQuery, ...]:
        """Sums of the rows inside, and numbers of those inside, below and above."""
        squares = self.kind == "squares"
        summed = self._inside(
            Aggregate.SUM_OF_SQUARES if squares else Aggregate.TOTAL,
            self.middle if squares else self.low,
            self.low,
            self.high,
        )
        numbers = [self._inside(Aggregate.COUNT, 0, self.low, self.high)]
        if self.floor < self.low:
            numbers.append(self._inside(Aggregate.COUNT, 0, self.floor, self.low - 1))
        if self.high < self.ceiling:
            numbers.append(self._inside(Aggregate.COUNT, 0, self.high + 1, self.ceiling))
        return summed, *numbers

    @property
    def space(self) -> CellSpace:
        """The cells, each twice where two numbers are made of it."""
        space = self.query.space
        if self.kind in ("total", "squares"):
            return space
        words = ("below", "above") if self.kind == "clipped" else ("the lower bound", "the upper bound")
        axis = Axis(variable=f"{self.query.value} from", labels=words)
        zeros = frozenset((*cell, end) for cell in space.structural_zeros for end in (0, 1))
        return CellSpace((*space.axes, axis), zeros)

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        """The sums from the exact tables; whole numbers of any size, cut to what fits."""
        summed, inside, *others = (table.astype(object) for table in exact)
        zero = np.zeros(self.query.space.size, dtype=object)
        under = others.pop(0) if self.floor < self.low else zero
        over = others.pop(0) if self.high < self.ceiling else zero
        width = self.high - self.low
        above = summed + width * over
        if self.kind == "total":
            made = above
        elif self.kind == "totals":
            below = width * inside - summed + width * under
            made = np.stack([above, below], axis=-1).reshape(-1)
        elif self.kind == "clipped":
            made = np.stack([under, over], axis=-1).reshape(-1)
        else:
            ends = (self.low - self.middle) ** 2 * under + (self.high - self.middle) ** 2 * over
            made = summed + ends - self.shift * (inside + under + over)
        fitting: IntArray = np.clip(self.factor * made, -LIMIT, LIMIT).astype(np.int64)
        return fitting

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Of sums of a variable with these bounds."""
        return self._sensitivity(neighbours).times(self.factor)

    def _sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        width, space = self.high - self.low, self.query.space
        open_cells = space.size - len(space.structural_zeros)
        if self.kind == "totals":
            return mirrored_sum(neighbours, cells=open_cells, width=width)
        if self.kind == "total":
            return bounded_sum(neighbours, cells=open_cells, low=0, high=width, is_complete=True)
        if self.kind == "clipped":
            return bounded_sum(neighbours, cells=2 * open_cells, low=0, high=1)
        most = clipping.largest_square(self.low, self.high)
        return bounded_sum(neighbours, cells=open_cells, low=-self.shift, high=most - self.shift)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Bounds inside the declared ones on both sides, on one side, and the declared ones."""
        query = TableQuery(space=cells("a", "b"), value="x")
        variables = group("a", "b") | number(-2, 4)
        rows = (("a", -2), ("a", 4), ("b", 1), ("b", 4), ("b", None))

        def released(low: int, high: int, kind: str) -> object:
            def made(data: Rows) -> list[int]:
                found = []
                for cell in ("a", "b"):
                    values = [x for g, x in data if g == cell and x is not None]
                    cut = [min(max(x, low), high) for x in values]
                    middle = (low + high) // 2
                    shift = max(high - middle, middle - low) ** 2 // 2
                    found += {
                        "totals": [sum(y - low for y in cut), sum(high - y for y in cut)],
                        "squares": [sum((y - middle) ** 2 - shift for y in cut)],
                        "clipped": [sum(x < low for x in values), sum(x > high for x in values)],
                    }[kind]
                return found

            return made

        def threefold(data: Rows) -> list[int]:
            return [3 * each for each in released(-1, 2, "totals")(data)]  # type: ignore[operator]

        kinds: tuple[Kind, ...] = ("totals", "squares", "clipped")
        parted = [(low, high, kind) for low, high in ((-1, 2), (-2, 3), (-2, 4)) for kind in kinds]
        whole = TableQuery(space=CellSpace(()), value="x")
        total = cls(query=whole, low=-1, high=2, floor=-2, ceiling=4, kind="total")
        return (
            *(
                Example(
                    statistic=cls(query=query, low=low, high=high, floor=-2, ceiling=4, kind=kind),
                    variables=variables,
                    rows=rows,
                    released=released(low, high, kind),  # type: ignore[arg-type]
                    is_tight=False,
                )
                for low, high, kind in parted
            ),
            Example(
                statistic=cls(query=query, low=-1, high=2, floor=-2, ceiling=4, kind="totals", factor=3),
                variables=variables,
                rows=rows,
                released=threefold,
                is_tight=False,
            ),
            Example(
                statistic=total,
                variables=number(-2, 4, missing="0"),
                rows=((-2,), (0,), (4,)),
                size=3,
                released=lambda data: [sum(min(max(x, -1), 2) + 1 for (x,) in data)],
                is_tight=False,
            ),
        )
