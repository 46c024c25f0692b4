"""Exact aggregates of coded rows, batch by batch, for engines that read fast.

Integers only. A row's contribution to a sum is bounded by the declared bounds; a request whose contributions could
reach 2^62 is refused from the declaration alone. Sums are kept in two halves of 32 bits, so that no partial sum can
leave int64 for fewer than 2^31 rows; the result is clamped to ±2^62. Clamping moves two sums no further apart, so a
declared sensitivity holds for every content of the data, and nothing can raise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Domain, Variable
from dalenius.core.law import IntArray
from dalenius.core.query import Aggregate, TableQuery, ValuesQuery
from dalenius.engines._columns import Column, Factored, expanded
from dalenius.engines._joint import JointCounts
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.spec.coding import DROPPED_CATEGORY, DROPPED_NUMBER

LIMIT = 2**62
# The square of so many steps, and so the sum of the squares of a person's cells, has at most 37 digits.
MOST_STEPS = 10**18
_HALF = 32
_SUMS = (Aggregate.COUNT, Aggregate.TOTAL, Aggregate.SUM_OF_SQUARES)


def used_variables(query: TableQuery) -> tuple[str, ...]:
    """Names of the variables that a table query reads, each once."""
    names = [axis.variable for axis in query.space.axes] + [f.variable for f in query.where]
    names += [name for name in (query.value, query.weight) if name is not None]
    return tuple(dict.fromkeys(names))


def largest_contribution(query: TableQuery, domain: Domain) -> int:
    """Largest absolute contribution of one row to a cell, from the declaration alone; refuses what has none."""
    for name in used_variables(query):
        domain.variable(name)
    size = 1
    if query.aggregate is Aggregate.PERSONS:
        if query.value is not None or query.weight is not None or query.clip is not None:
            raise Unsupported("Persons are counted once each: without a value, and without weights.")
        return size
    if query.aggregate is not Aggregate.COUNT:
        if query.value is None:
            raise ParameterError(f"A {query.aggregate} needs the numeric variable that it is taken of.")
        bounds = domain.variable(query.value).bounds
        size = max(abs(bounds.low - query.centre), abs(bounds.high - query.centre))
        size = size * size if query.aggregate is Aggregate.SUM_OF_SQUARES else size
    if query.weight is not None:
        if query.aggregate not in _SUMS:
            raise Unsupported(f"A {query.aggregate} takes no weights; a count, total or mean does.")
        weights = domain.variable(query.weight).bounds
        size *= max(abs(weights.low), abs(weights.high))
    if query.clip is not None:
        _check_clip(query, domain, size)
    if size >= LIMIT:
        raise TooLarge(
            "One row could contribute 2^62 steps or more to a cell. Use a coarser step or narrower bounds.", limit=LIMIT
        )
    return size


def _check_clip(query: TableQuery, domain: Domain, size: int) -> None:
    """Counts and totals without weights, of units whose sizes every engine can hold; all by the declaration."""
    if query.aggregate not in (Aggregate.COUNT, Aggregate.TOTAL) or query.weight is not None:
        raise Unsupported("What a person adds is clipped for counts and totals without weights.")
    assert query.clip is not None  # The caller looks.
    if size * domain.neighbours.max_rows * query.clip.fineness >= MOST_STEPS:
        raise TooLarge(
            "All rows of a person together could add 10^18 parts of a step or more to a cell. Use a coarser step, "
            "narrower bounds or a smaller max_rows.",
            limit=MOST_STEPS,
        )


def empty_cell(query: TableQuery, domain: Domain) -> int:
    """Value of a cell without rows: 0 for sums; for extremes the declared bound on the far side."""
    if query.aggregate is Aggregate.MINIMUM:
        return domain.variable(str(query.value)).bounds.high - query.centre
    if query.aggregate is Aggregate.MAXIMUM:
        return domain.variable(str(query.value)).bounds.low - query.centre
    return 0


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
    """Which coded rows pass a filter."""
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
    """Which coded rows have a value that a query asks for."""
    mask: NDArray[np.bool_] = np.asarray(coded[query.value] != DROPPED_NUMBER)
    for condition in query.where:
        mask &= passes(condition, domain.variable(condition.variable), coded[condition.variable])
    return mask


@dataclass(eq=False, kw_only=True)
class Tally:
    """Accumulates one table query over batches of coded rows."""

    query: TableQuery
    domain: Domain
    _low: IntArray = field(init=False)
    _high: IntArray | None = field(init=False, default=None)
    _joint: JointCounts | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        size = largest_contribution(self.query, self.domain)
        start = 0 if self.query.aggregate in _SUMS else empty_cell(self.query, self.domain)
        self._low = np.full(self.query.space.size, start, dtype=np.int64)
        if self.query.aggregate in _SUMS and size >= 2 ** (_HALF - 1):
            self._high = np.zeros(self.query.space.size, dtype=np.int64)

    def add(self, batch: Mapping[str, Column], multiplicity: IntArray | None = None) -> None:
        """Count a batch of coded rows in; each may stand for several equal rows."""
        query = self.query
        if self._is_plain_count and multiplicity is None:
            self._joint = self._joint or self._jointly(batch)
            if self._joint is not None and self._joint.add(batch):
                return
        cells, mask = self._cells(batch)
        if self._is_plain_count:
            chosen = slice(None) if mask is None else mask
            if multiplicity is None:
                self._low += np.bincount(cells[chosen], minlength=len(self._low))
            else:
                np.add.at(self._low, cells[chosen], multiplicity[chosen])
            return
        shares = np.ones(len(cells), dtype=np.int64)
        for name in (query.value, query.weight):
            if name is not None:
                present = expanded(batch[name]) != DROPPED_NUMBER
                mask = present if mask is None else mask & present
        chosen = slice(None) if mask is None else mask
        cells, shares = cells[chosen], shares[chosen]
        if query.aggregate is not Aggregate.COUNT:
            shares = expanded(batch[str(query.value)])[chosen] - query.centre
        if query.aggregate is Aggregate.SUM_OF_SQUARES:
            shares = shares * shares
        if query.weight is not None:
            shares = shares * expanded(batch[query.weight])[chosen]
        self._combine(cells, shares, None if multiplicity is None else multiplicity[chosen])

    @property
    def _is_plain_count(self) -> bool:
        query = self.query
        return query.aggregate is Aggregate.COUNT and query.weight is None and query.value is None

    def _jointly(self, batch: Mapping[str, Column]) -> JointCounts | None:
        """Where every column stands for places in declared lists, and no variable is on two axes."""
        variables = [axis.variable for axis in self.query.space.axes]
        if len(set(variables)) < len(variables):
            return None
        return JointCounts.of(batch, used_variables(self.query))

    def _fold(self, joint: JointCounts) -> None:
        """Bring counts of combinations of places into the cells."""
        axes = {
            axis.variable: (len(axis.labels), axis_positions(axis, joint.codes(axis.variable)))
            for axis in self.query.space.axes
        }
        kept: dict[str, NDArray[np.bool_]] = {}
        for condition in self.query.where:
            name = condition.variable
            passed = passes(condition, self.domain.variable(name), joint.codes(name))
            kept[name] = kept[name] & passed if name in kept else passed
        self._low += joint.table(axes, kept)

    def add_aggregates(self, batch: Mapping[str, Column], aggregates: Sequence[int]) -> None:
        """Combine aggregates that a database took of groups of rows into the cells of the groups."""
        cells, mask = self._cells(batch)
        where = np.arange(len(cells)) if mask is None else np.flatnonzero(mask)
        chosen = [aggregates[row] for row in where.tolist()]
        if self._high is not None and self.query.aggregate in _SUMS:
            np.add.at(self._high, cells[where], np.array([part >> _HALF for part in chosen], dtype=np.int64))
            chosen = [part & (2**_HALF - 1) for part in chosen]
            np.add.at(self._low, cells[where], np.array(chosen, dtype=np.int64))
        else:
            self._combine(cells[where], np.array(chosen, dtype=np.int64))

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

    def _combine(self, cells: NDArray[Any], shares: IntArray, multiplicity: IntArray | None = None) -> None:
        aggregate = self.query.aggregate
        if aggregate is Aggregate.MINIMUM:
            np.minimum.at(self._low, cells, shares)
        elif aggregate is Aggregate.MAXIMUM:
            np.maximum.at(self._low, cells, shares)
        elif aggregate is Aggregate.LARGEST_ABSOLUTE:
            np.maximum.at(self._low, cells, np.abs(shares))
        elif self._high is None:
            np.add.at(self._low, cells, shares if multiplicity is None else shares * multiplicity)
        else:
            # A half of a share and a number of rows are below 2^32 each, and so their products add up inside 64 bits.
            times = 1 if multiplicity is None else multiplicity
            np.add.at(self._high, cells, (shares >> _HALF) * times)
            np.add.at(self._low, cells, (shares & (2**_HALF - 1)) * times)

    def result(self) -> IntArray:
        """The aggregate of every cell in declared order; structural zeros hold no rows."""
        if self._joint is not None:
            joint, self._joint = self._joint, None
            self._fold(joint)
        total = self._low
        if self._high is not None:
            high = self._high + (total >> _HALF)
            low = total & (2**_HALF - 1)
            edge = LIMIT >> _HALF
            inside = (high >= -edge) & (high < edge)
            total = np.where(inside, (np.where(inside, high, 0) << _HALF) + low, 0)
            total = np.where(inside, total, np.where(high < 0, -LIMIT, LIMIT)).astype(np.int64)
        structural = list(self.query.space.structural_indices)
        if structural:
            total[structural] = empty_cell(self.query, self.domain)
        return total
