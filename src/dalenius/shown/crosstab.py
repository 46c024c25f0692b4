"""A released table laid out in rows, columns and layers, every number with its margin of error.

Works on released values and public laws alone. Totals are published margins, or sums of independent cells whose
variances add; where neither is valid, no total is shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf, prod, sqrt
from statistics import NormalDist
from typing import Any, TypedDict

import numpy as np

from dalenius.algebra.tabulation import margin
from dalenius.core.domain import Axis
from dalenius.core.law import FloatArray
from dalenius.core.release import ADDITIVE, POSSIBLE, SELECTION, Release, Subject, Table
from dalenius.errors import RequestError
from dalenius.shown.cells import Cell, half_widths, half_widths_with_sampling, known, reliability, share_of

SHOWS = ("value", "row", "column", "total")
Margins = Callable[[list[str]], Release | None]
Place = dict[str, int]
"""Where a cell stands on some axes, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of a sheet: its labels (a label spans the rows below that share it) and its cells."""

    labels: tuple[tuple[str, int], ...]
    cells: tuple[Cell, ...]
    is_total: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The rows and columns of one layer."""

    title: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crosstab:
    """A whole table: column headings, then one sheet a layer."""

    row_axes: tuple[Axis, ...]
    column_axes: tuple[Axis, ...]
    layer_axes: tuple[Axis, ...]
    heads: tuple[tuple[tuple[str, int], ...], ...]
    sheets: tuple[Sheet, ...]
    has_totals: bool
    show: str
    confidence: float
    marks: frozenset[str]
    # Variables of which the release shows a part.
    parts: tuple[str, ...] = ()

    @property
    def is_row_total_of_shown(self) -> bool:
        """Whether the line of totals leaves out records with other values of what it sums over."""
        return self._sums_a_part(self.column_axes)

    @property
    def is_column_total_of_shown(self) -> bool:
        """The same of the column of totals."""
        return self._sums_a_part(self.row_axes)

    def _sums_a_part(self, fixed: tuple[Axis, ...]) -> bool:
        return bool(set(self.parts) - {axis.variable for axis in (*fixed, *self.layer_axes)})

    @property
    def width(self) -> int:
        """Number of value columns, the total included."""
        return len(self.sheets[0].lines[0].cells) if self.sheets and self.sheets[0].lines else 1


class _ShownTable:
    def __init__(self, release: Release, table: Table, confidence: float, shown: FloatArray | None = None) -> None:
        """`shown` are the numbers that readers see; how far they were moved is added to the margins of error."""
        self.names = [axis.name for axis in table.space.axes]
        shape = table.shape
        self.exact = table.values.reshape(shape)
        self.values = self.exact if shown is None else shown.reshape(shape)
        self.variance = table.variance.reshape(shape)
        self.halves = half_widths(release, table, confidence).reshape(shape) + abs(self.values - self.exact)
        sampled = half_widths_with_sampling(release, table, confidence)
        self.sampled = sampled.reshape(shape) + abs(self.values - self.exact)
        structural = np.zeros(table.space.size, dtype=bool)
        structural[list(table.space.structural_indices)] = True
        self.structural = structural.reshape(shape)

    def at(self, position: Place) -> tuple[float, float, float | None, float | None, bool]:
        """Value, variance, half-width without and with sampling where known, and whether it is a structural zero."""
        index = tuple(position[name] for name in self.names)
        half, sampled = known(float(self.halves[index])), known(float(self.sampled[index]))
        return float(self.values[index]), float(self.variance[index]), half, sampled, bool(self.structural[index])


class Places(TypedDict, total=False):
    rows: list[str]
    columns: list[str]
    layers: list[str]


def asked_layout(subject: Subject, table: Table) -> Places:
    """Names of a table's axes on rows, columns and layers, as the request placed them; a coarser level stands where its
    variable was placed. Where nothing is left on the rows, the first of several columns stands there.
    """
    names = {axis.variable: axis.name for axis in table.space.axes}
    rows, columns, layers = (
        [names[v] for v in (name.partition(".")[0] for name in asked) if v in names]
        for asked in (subject.rows, subject.columns, subject.layers)
    )
    if not rows and len(columns) > 1:
        rows = [columns.pop(0)]
    return Places(rows=rows, columns=columns, layers=layers)


def lay_out(
    release: Release,
    table: Table,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    layers: Sequence[str] = (),
    show: str = "value",
    totals: bool = True,
    confidence: float = 0.95,
    margins: Margins = lambda _: None,
    shown: FloatArray | None = None,
) -> Crosstab:
    """Lay a released table out; axes that are named nowhere join the rows (the last of several joins the columns).

    `margins` finds a total that the release itself does not hold, by the names of its axes. `shown` are the numbers
    that readers see in the place of the table's own; totals that are sums of the table's cells are then sums of these.
    """
    axes = {axis.name: axis for axis in table.space.axes}
    placed = [[axes[n] for n in dict.fromkeys(names) if n in axes] for names in (rows, columns, layers)]
    used = {axis.name for group in placed for axis in group}
    rest = [axis for name, axis in axes.items() if name not in used]
    if rest and not placed[1] and (placed[0] or len(rest) > 1):
        placed[1] = [rest.pop()]
    placed[0] += rest
    full = _ShownTable(release, table, confidence, shown)
    show = show if show in SHOWS else "value"
    on_rows, on_columns, on_layers = placed
    builder = _Builder(release, table, full, on_rows, on_columns, on_layers, show, totals, confidence, margins)
    return builder.crosstab()


@dataclass(eq=False)
class _Builder:
    release: Release
    table: Table
    full: _ShownTable
    rows: list[Axis]
    columns: list[Axis]
    layers: list[Axis]
    show: str
    totals: bool
    confidence: float
    more: Margins
    margins: dict[frozenset[str], _ShownTable | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.possible = _possible(self.release, self.table)
        # Cells and totals of one measured block are sums of disjoint, independent parts.
        self.is_plain = len(self.release.blocks) == 1 and self.table.is_unbiased
        self.row_total = self.totals and bool(self.rows) and self._margin(self.columns, self.layers) is not None
        self.column_total = self.totals and bool(self.columns) and self._margin(self.rows, self.layers) is not None

    def _margin(self, *kept: list[Axis]) -> _ShownTable | None:
        names = [axis.name for group in kept for axis in group]
        key = frozenset(names)
        if key == set(self.full.names):
            return self.full
        if key not in self.margins:
            self.margins[key] = self._find(names)
        return self.margins[key]

    def _find(self, names: list[str]) -> _ShownTable | None:
        if self.table.measure not in ADDITIVE:
            return None
        try:
            return self._total(self.release, margin(self.release, *names, measure=self.table.measure))
        except RequestError:
            release = self.more(names)
            return None if release is None else self._total(release, release.table)

    def _total(self, release: Release, table: Table) -> _ShownTable:
        """A margin, shown as the sum of the shown cells where it is the sum of the exact ones."""
        part = _ShownTable(release, table, self.confidence)
        if self.full.values is self.full.exact:
            return part
        dropped = tuple(i for i, name in enumerate(self.full.names) if name not in part.names)
        kept = [name for name in self.full.names if name in part.names]
        order = [kept.index(name) for name in part.names]
        sums = [a.sum(axis=dropped).transpose(order) for a in (self.full.exact, self.full.values)]
        is_sum = np.allclose(sums[0], part.exact, atol=1e-6)
        return _ShownTable(release, table, self.confidence, sums[1] if is_sum else np.rint(part.exact))

    def crosstab(self) -> Crosstab:
        sheets = [
            Sheet(
                title=tuple((axis.name, axis.labels[layer[axis.name]]) for axis in self.layers),
                lines=tuple(self._lines(layer)),
            )
            for layer in _positions(self.layers)
        ]
        marks = frozenset(cell.mark for sheet in sheets for line in sheet.lines for cell in line.cells if cell.mark)
        return Crosstab(
            row_axes=tuple(self.rows),
            column_axes=tuple(self.columns),
            layer_axes=tuple(self.layers),
            heads=_heads(self.columns),
            sheets=tuple(sheets),
            has_totals=self.column_total,
            show=self.show,
            confidence=self.confidence,
            marks=marks,
            parts=self.release.owner(self.table).about.parts,
        )

    def _lines(self, layer: Place) -> Iterator[Line]:
        spans = _spans(self.rows)
        for number, row in enumerate(_positions(self.rows)):
            labels = tuple(
                (axis.labels[row[axis.name]], span)
                for axis, span in zip(self.rows, spans, strict=True)
                if number % span == 0
            )
            yield Line(labels=labels, cells=tuple(self._cells(layer, row, is_total=False)))
        if self.row_total:
            yield Line(labels=(), cells=tuple(self._cells(layer, {}, is_total=True)), is_total=True)

    def _cells(self, layer: Place, row: Place, *, is_total: bool) -> Iterator[Cell]:
        kept = [] if is_total else self.rows
        for column in _positions(self.columns):
            yield self._cell(self._margin(kept, self.columns, self.layers), layer, row, column, is_total)
        if self.column_total:
            yield self._cell(self._margin(kept, self.layers), layer, row, {}, True)

    def _cell(self, part: _ShownTable | None, layer: Place, row: Place, column: Place, is_total: bool) -> Cell:
        if part is None:
            return Cell(value=None, is_total=is_total)
        value, variance, half, sampled, is_structural = part.at(layer | row | column)
        if is_structural:
            return Cell(value=None, is_total=is_total, is_structural=True)
        if self.table.measure == SELECTION:
            return Cell(value=None, is_selected=True)
        is_judged = self.table.measure == "count" and half is not None
        mark = reliability(value, sqrt(variance)) if is_judged else ""
        if self.show == "value":
            least, most = self.possible
            ends: dict[str, Any] = {"half": half, "half_with_sampling": sampled, "least": least, "most": most}
            return Cell(value=known(value), mark=mark, is_total=is_total, **ends)
        whole = self._whole(layer, row, column)
        share, error = share_of(value, variance, whole) if whole else (None, None)
        if half is None or not self.is_plain:
            error = None
        factor = NormalDist().inv_cdf(0.5 + self.confidence / 2)
        # A sum's share of itself is no measurement: it has no margin.
        half = factor * error if error else None
        return Cell(value=share, half=half, mark=mark, is_total=is_total, is_percent=True, least=0.0)

    def _whole(self, layer: Place, row: Place, column: Place) -> tuple[float, float] | None:
        kept = {"row": self.rows if row else [], "column": self.columns if column else [], "total": []}[self.show]
        part = self._margin(kept, self.layers)
        if part is None:
            return None
        value, variance, *_ = part.at(layer | row | column)
        return value, variance


def _possible(release: Release, table: Table) -> tuple[float, float]:
    """The least and the most that a cell can be: no count is negative, and declared bounds hold."""
    notes = (a for a in release.adjustments if a.get("name") == POSSIBLE and a.get("table") == table.name)
    note = next(notes, None)
    if note is not None:
        return float(note["lower"]), float(note["upper"])
    return (0.0 if table.measure == "count" else -inf), inf


def _positions(axes: Sequence[Axis]) -> Iterator[dict[str, int]]:
    names = [axis.name for axis in axes]
    for index in product(*(range(len(axis)) for axis in axes)):
        yield dict(zip(names, index, strict=True))


def _spans(axes: Sequence[Axis]) -> list[int]:
    """Over how many lines a label of each axis stands."""
    return [prod(map(len, axes[place + 1 :])) for place in range(len(axes))]


def _heads(axes: Sequence[Axis]) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Column headings, one line an axis, each label with the number of columns below it."""
    return tuple(
        tuple((label, span) for label in axis.labels) * prod(map(len, axes[:place]))
        for place, (axis, span) in enumerate(zip(axes, _spans(axes), strict=True))
    )


def flat(crosstab: Crosstab) -> list[dict[str, Any]]:
    """The cells that are not totals, with their labels: what charts draw."""
    rows, columns = (
        [" · ".join(labels) for labels in product(*(axis.labels for axis in axes))]
        for axes in (crosstab.row_axes, crosstab.column_axes)
    )
    return [
        {"layer": " · ".join(label for _, label in sheet.title), "row": row, "column": column, "cell": cell}
        for sheet in crosstab.sheets
        for row, line in zip(rows, (line for line in sheet.lines if not line.is_total), strict=True)
        for column, cell in zip(columns, line.cells, strict=False)
    ]
