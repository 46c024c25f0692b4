"""A table of totals: the sum of one numeric variable in each cell."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, Unsupported
from dalenius.statistics._example import Example, Rows, cells, group, number
from dalenius.statistics._moves import bounded_sum, is_fixed, reachable


class Membership(StrEnum):
    """Whether an intruder is taken to know who is in which cell."""

    PUBLIC = "public"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class MagnitudeTable:
    """Cell totals in steps; each row adds a number in [low, high] to one cell, or to none.

    Guarantee: with M = max(|low|, |high|) a unit with c rows moves the table by at most c M in the l1 norm when added
    or removed and by at most 2 c M when replaced: its row may leave one cell and enter another. Bootstrap, replace,
    membership private: max(max_i V_i, M_1 + M_2), V_i the range within cell i and M_1, M_2 the two largest |x| of
    different cells; membership public: max_i V_i, and cells may be treated in parallel. A row whose value can drop out
    (a missing value, one outside the bounds, a condition) adds nothing to its cell, so that V_i then includes 0.
    Publicly known attributes: a row whose cell they decide moves that cell by at most high - low, or by the range with
    0 where its value can drop out; not at all where its value is public too. Of halved totals [low, high] are the whole
    numbers by which one row can move one. Evidence: exhaustive neighbours on tiny data, tests/statistics/test_totals.py
    and tests/conformance/test_statistics.py. References: O'Keefe & Charest (2018) 5.2, corrected: their value holds for
    public membership only.
    """

    query: TableQuery
    low: int
    high: int
    is_complete: bool = False
    keeps_values: bool = False

    @classmethod
    def of(cls, domain: Domain, name: str, space: CellSpace, where: tuple[Filter, ...] = ()) -> "MagnitudeTable":
        bounds = domain.variable(name).bounds
        keeps_rows = all(domain.variable(axis.variable).keeps_every_row(axis) for axis in space.axes)
        keeps_values = not where and bounds.keeps_every_value
        is_complete = keeps_values and keeps_rows and not space.structural_zeros
        query = TableQuery(space=space, where=where, function=RowFunction.of(Power(name)))
        return cls(query=query, low=bounds.low, high=bounds.high, is_complete=is_complete, keeps_values=keeps_values)

    @property
    def fallen(self) -> tuple[int, ...]:
        """What a row that is known to be in a cell may add besides its value: nothing, where its value can drop out."""
        return () if self.is_complete or self.keeps_values else (0,)

    def value(self, cells: Sequence[int] | IntArray, values: Sequence[int] | IntArray) -> tuple[int, ...]:
        totals = [0] * self.query.space.size
        for cell, value in zip(cells, values, strict=True):
            if cell >= 0:
                totals[cell] += int(value)
        return tuple(totals)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        cells = reachable(self.query, neighbours)
        is_complete = self.is_complete or (self.keeps_values and is_fixed(self.query, neighbours))
        return bounded_sum(neighbours, cells=cells, low=self.low, high=self.high, is_complete=is_complete)

    def local(self, cells: Sequence[int] | IntArray, values: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        """Largest l1 change that one record can make to this table.

        Exact for a complete table; otherwise exact for a file with a row outside the table.
        """
        if neighbours.max_rows > 1:
            raise Unsupported("Local sensitivities are for one row to a unit.")
        most = max(abs(self.low), abs(self.high))
        if not neighbours.is_replace:
            return most
        inside = [int(v) for c, v in zip(cells, values, strict=True) if c >= 0]
        moves = [max(self.high - v, v - self.low) for v in inside]
        if self.query.space.possible > 1:
            moves += [abs(v) + most for v in inside]
        if not self.is_complete:
            moves += [most, *(abs(v) for v in inside)]
        return max(moves, default=0)

    def smooth(
        self, cells: Sequence[int] | IntArray, values: Sequence[int] | IntArray, neighbours: Neighbours
    ) -> Fraction:
        return Fraction(max(1, int(self.sensitivity(neighbours).l1)))

    def bootstrap(
        self,
        cells: Sequence[int] | IntArray,
        values: Sequence[int] | IntArray,
        neighbours: Neighbours,
        membership: Membership = Membership.PRIVATE,
    ) -> int:
        """Largest l1 change between neighbours made of these rows only (-1: a row outside the table).

        Exact, but for public membership where values can drop out: there it is what any of them could do.
        """
        owner, x = np.asarray(cells, dtype=np.int64), np.asarray(values, dtype=np.int64)
        inside = owner >= 0
        ranges, largest = [], []
        for cell in np.unique(owner[inside]):
            own = x[owner == cell]
            if membership is Membership.PUBLIC:
                own = np.append(own, np.array(self.fallen, dtype=np.int64))
            ranges.append(int(own.max() - own.min()))
            largest.append(int(np.abs(own).max()))
        if not largest:
            return 0
        if not neighbours.is_replace:
            return max(largest)
        if membership is Membership.PUBLIC:
            return max(ranges)
        first, second = (*sorted(largest, reverse=True), 0)[:2]
        apart = [first + second] if len(largest) > 1 else []
        outside = [first] if not bool(inside.all()) else []
        return max([*ranges, *apart, *outside])

    @staticmethod
    def from_extremes(
        counts: IntArray, minima: IntArray, maxima: IntArray, membership: Membership, declared: Sequence[int] = ()
    ) -> tuple[int, list[int], list[int]]:
        """(whole-table sensitivity, V_i, M_i) under replace from per-cell aggregates; never too small.

        Rows outside the table are taken to exist. `declared` values widen every cell (a nested variant between the
        data and the universe); an empty cell without declared values has V_i = M_i = 0.
        """
        if not len(counts) == len(minima) == len(maxima):
            raise ParameterError("counts, minima and maxima must belong to the same cells.")
        ranges, largest = [], []
        for count, bottom, top in zip(counts, minima, maxima, strict=True):
            ends = [*([int(bottom), int(top)] if count > 0 else []), *declared]
            ranges.append(max(ends) - min(ends) if ends else 0)
            largest.append(max((abs(v) for v in ends), default=0))
        if membership is Membership.PUBLIC:
            return max(ranges, default=0), ranges, largest
        first, second = (*sorted(largest, reverse=True), 0, 0)[:2]
        return max([*ranges, first + second]), ranges, largest

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        def placed(rows: Rows) -> tuple[list[int], list[int]]:
            return ([("a", "b").index(g) for g, _ in rows], [x for _, x in rows])

        query = TableQuery(space=cells("a", "b"), function=RowFunction.of(Power("x")))
        return (
            Example(
                cls(query=query, low=-2, high=3),
                group("a", "b") | number(-2, 3),
                (("a", -2), ("a", 3), ("b", 3), ("b", -2)),
                arguments=placed,
            ),
            # Two rows of a unit together are rounded once.
            Example(
                cls(query=replace(query, halvings=2), low=-1, high=1),
                group("a", "b") | number(-2, 3),
                (("a", -2), ("a", 3), ("b", 3), ("b", -1)),
                # Local sensitivities are those of whole totals.
                arguments=lambda rows: None,
                is_tight=False,
            ),
            # A person has at least one row, so that a replaced one moves a complete total by less than is declared.
            Example(
                cls(query=replace(query, space=cells("a")), low=1, high=3, is_complete=True),
                group("a") | number(1, 3, missing="1"),
                (("a", 1), ("a", 3)),
                arguments=placed,
                is_tight=False,
            ),
        )
