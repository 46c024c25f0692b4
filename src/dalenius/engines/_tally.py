"""Exact aggregates of coded rows, batch by batch, for engines that read fast.

Integers only. What a row adds is bounded by the declared bounds, and a query whose rows could add too much is refused
from the declaration alone (`TableQuery.largest`). Sums are exact (`_row_values`) until all rows are in; then they are
halved and clamped to ±2^62. Clamping moves two sums no further apart, so a declared sensitivity holds for every content
of the data, and nothing can raise.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace, Domain, Variable
from dalenius.core.law import IntArray
from dalenius.core.query import Aggregate, Ranges, TableQuery, ValuesQuery
from dalenius.engines._columns import Column, Factored, expanded
from dalenius.engines._joint import JointCounts
from dalenius.engines._row_values import Width, joined, row_words
from dalenius.spec.coding import DROPPED_CATEGORY, DROPPED_NUMBER

_EXTREMES = {Aggregate.MINIMUM: np.minimum, Aggregate.MAXIMUM: np.maximum, Aggregate.LARGEST_ABSOLUTE: np.maximum}


def axis_positions(axis: Axis, codes: IntArray) -> IntArray:
    """Label positions of coded values on an axis; -1 outside the table, unless a label holds the rest."""
    if axis.cuts:
        cuts = np.asarray(axis.cuts, dtype=np.int64)
        intervals = np.searchsorted(cuts, codes, side="right") - 1
        intervals[(codes == DROPPED_NUMBER) | (intervals < 0) | (intervals >= len(cuts) - 1)] = axis.rest
        return intervals.astype(np.int64)
    # The last entry of the map serves the code -1 of dropped rows.
    places = np.asarray([*axis.codes, -1], dtype=np.int64)
    return np.where(places < 0, axis.rest, places)[codes]


def passes(condition: Filter, variable: Variable, codes: IntArray) -> NDArray[np.bool_]:
    if variable.is_numeric:
        mask: NDArray[np.bool_] = np.asarray(codes != DROPPED_NUMBER)
        if condition.low is not None:
            mask &= codes >= condition.low
        if condition.high is not None:
            mask &= codes <= condition.high
        return mask
    allowed = np.zeros(len(variable.categories) + 1, dtype=bool)
    allowed[list(condition.codes)] = True
    allowed[DROPPED_CATEGORY] = False
    chosen: NDArray[np.bool_] = allowed[codes]
    return chosen


def in_structural_zeros(domain: Domain, batch: Mapping[str, Column]) -> NDArray[np.bool_]:
    """Which coded rows are in a cell that the declaration calls impossible."""
    inside = np.zeros(len(next(iter(batch.values()))), dtype=bool)
    for zero in domain.structural_zeros:
        matched = np.ones(len(inside), dtype=bool)
        for name, labels in zero.items():
            categories = domain.variable(name).categories
            matched &= np.isin(expanded(batch[name]), [categories.code(label) for label in labels])
        inside |= matched
    return inside


def is_listed(query: ValuesQuery, domain: Domain, coded: Mapping[str, IntArray]) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = np.asarray(coded[query.value] != DROPPED_NUMBER)
    for condition in query.where:
        mask &= passes(condition, domain.variable(condition.variable), coded[condition.variable])
    return mask


def scanned_cells(
    space: CellSpace, where: Iterable[Filter], domain: Domain, batch: Mapping[str, IntArray], rows: int
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Flat cells of scanned rows, and which of them are inside the table and pass the conditions."""
    cells, mask = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=bool)
    for axis in space.axes:
        positions = axis_positions(axis, np.asarray(batch[axis.variable], dtype=np.int64))
        mask &= positions >= 0
        cells = cells * len(axis) + np.maximum(positions, 0)
    for condition in where:
        codes = np.asarray(batch[condition.variable], dtype=np.int64)
        mask &= passes(condition, domain.variable(condition.variable), codes)
    return cells, mask


@dataclass(eq=False, kw_only=True)
class Tally:
    query: TableQuery
    domain: Domain
    _words: list[IntArray] = field(init=False)
    _joint: JointCounts | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        size = self.query.largest(self.domain)
        self._is_sum = self.query.aggregate is Aggregate.SUM
        self._width = Width.of(size if self._is_sum else 1)
        self._ranges: Ranges = self.query.ranges(self.domain)
        start, cells = self.query.empty_cell(self.domain), self.query.space.size
        self._words = [np.full(cells, start, dtype=np.int64) for _ in range(self._width.words)]

    def add(self, batch: Mapping[str, Column], multiplicity: IntArray | None = None) -> None:
        """Count a batch of coded rows in; each may stand for several equal rows."""
        is_plain = self.query.is_plain_count
        if is_plain and multiplicity is None:
            self._joint = self._joint or JointCounts.of(batch, self.query.variables)
            if self._joint is not None and self._joint.add(batch):
                return
        cells, columns, chosen = self.rows_in(batch)
        if is_plain and multiplicity is None:
            self._words[0] += np.bincount(cells, minlength=self.query.space.size)
            return
        words = row_words(self.query, self._ranges, columns, self._width)
        self._combine(cells, words, None if multiplicity is None else multiplicity[chosen])

    def rows_in(
        self, batch: Mapping[str, Column]
    ) -> tuple[NDArray[Any], dict[str, IntArray], NDArray[np.bool_] | slice]:
        """Cells and summed variables of the rows that are in the table and have these, and which rows those are."""
        cells, mask = self._cells(batch)
        columns = {name: expanded(batch[name]) for name in self.query.function.variables}
        for column in columns.values():
            present = column != DROPPED_NUMBER
            mask = present if mask is None else mask & present
        chosen = slice(None) if mask is None else mask
        return cells[chosen], {name: column[chosen] for name, column in columns.items()}, chosen

    def _fold(self, joint: JointCounts) -> None:
        codes, axes = joint.codes, self.query.space.axes
        positions = {a.variable: (len(a.labels), axis_positions(a, codes[a.variable])) for a in axes}
        kept: dict[str, NDArray[np.bool_]] = {}
        for condition in self.query.where:
            name = condition.variable
            kept[name] = kept.get(name, True) & passes(condition, self.domain.variable(name), codes[name])
        self._words[0] += joint.table(positions, kept)

    def add_aggregates(self, batch: Mapping[str, Column], aggregates: Sequence[int]) -> None:
        """Combine aggregates that a database took of groups of rows into the cells of the groups."""
        cells, mask = self._cells(batch)
        where = np.arange(len(cells)) if mask is None else np.flatnonzero(mask)
        parts = [self._width.parts(aggregates[row]) for row in where.tolist()]
        self._combine(cells[where], list(np.array(parts, dtype=np.int64).reshape(-1, self._width.words).T))

    def _cells(self, batch: Mapping[str, Column]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Flat cell of each row, and which rows are in the table (None for all).

        A row outside an axis is sent so far below zero that no other axis brings it back.
        """
        space, sizes = self.query.space, self.query.space.shape
        is_small = space.size < 2**26 and len(space.axes) < 32
        kind: type[np.signedinteger[Any]] = np.int32 if is_small else np.int64
        outside = -(2**26) if is_small else -(2**62) // (len(space.axes) + 1)
        cells: NDArray[Any] = np.zeros(len(next(iter(batch.values()))) if batch else 0, dtype=kind)
        may_leave = False
        stride = space.size
        for number, (axis, size) in enumerate(zip(space.axes, sizes, strict=True)):
            stride //= size
            column = batch[axis.variable]
            positions = axis_positions(axis, column.codes if isinstance(column, Factored) else column)
            shifts = np.where(positions < 0, outside, positions * stride).astype(kind)
            may_leave = may_leave or bool((positions < 0).any())
            moved = np.take(shifts, column.places) if isinstance(column, Factored) else shifts
            cells = moved if number == 0 else np.add(cells, moved, out=cells)
        mask = cells >= 0 if may_leave else None
        for condition in self.query.where:
            variable = self.domain.variable(condition.variable)
            column = batch[condition.variable]
            if isinstance(column, Factored):
                passed = passes(condition, variable, column.codes)[column.places]
            else:
                passed = passes(condition, variable, column)
            mask = passed if mask is None else mask & passed
        return cells, mask

    def _combine(self, cells: NDArray[Any], words: Sequence[Any], multiplicity: IntArray | None = None) -> None:
        if not self._is_sum:
            is_absolute = self.query.aggregate is Aggregate.LARGEST_ABSOLUTE
            own = np.abs(words[0]) if is_absolute else words[0]
            _EXTREMES[self.query.aggregate].at(self._words[0], cells, own)
            return
        # A word and a number of rows are below 2^32 each, and so their products add up inside 64 bits.
        for total, word in zip(self._words, words, strict=False):
            np.add.at(total, cells, word if multiplicity is None else word * multiplicity)

    def result(self) -> IntArray:
        """The aggregate of every cell in declared order; structural zeros hold no rows."""
        if self._joint is not None:
            joint, self._joint = self._joint, None
            self._fold(joint)
        total = joined(self._words, self._width, self.query.halvings)
        structural = list(self.query.space.structural_indices)
        if structural:
            total[structural] = self.query.empty_cell(self.domain)
        return total
