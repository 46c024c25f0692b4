"""A released table laid out in rows, columns and layers, every number with its margin of error.

Works on released values and public laws alone. Totals are published margins, or sums of independent cells whose
variances add; where neither is valid, no total is shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, sqrt
from statistics import NormalDist
from typing import Any, TypedDict

import numpy as np

from dalenius.core.domain import Axis
from dalenius.core.law import FloatArray
from dalenius.core.release import ADDITIVE, POSSIBLE, SELECTION, Release, Subject, Table
from dalenius.errors import RequestError
from dalenius.shown.cells import Cell, half_widths, half_widths_with_sampling, known, reliability, share_of

SHOWS = ("value", "row", "column", "total")
Margins = Callable[[list[str]], Release | None]


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
    """A table as an array over named axes."""

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

    def at(self, position: dict[str, int]) -> tuple[float, float, float | None, float | None, bool]:
        """Value, variance, half-width without and with sampling where known, and whether it is a structural zero."""
        index = tuple(position[name] for name in self.names)
        half, sampled = known(float(self.halves[index])), known(float(self.sampled[index]))
        return float(self.values[index]), float(self.variance[index]), half, sampled, bool(self.structural[index])


class Places(TypedDict, total=False):
    """Names of axes on rows, columns and layers."""

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
    row_axes, column_axes, layer_axes = placed
    builder = _Builder(release, table, row_axes, column_axes, layer_axes, show, totals, confidence, margins, shown)
    return builder.crosstab()


class _Builder:
    def __init__(
        self,
        release: Release,
        table: Table,
        rows: list[Axis],
        columns: list[Axis],
        layers: list[Axis],
        show: str,
        totals: bool,
        confidence: float,
        margins: Margins,
        shown: FloatArray | None,
    ) -> None:
        self.more = margins
        self.release, self.table, self.confidence = release, table, confidence
        self.rows, self.columns, self.layers = rows, columns, layers
        self.show = show if show in SHOWS else "value"
        self.full = _ShownTable(release, table, confidence, shown)
        self.margins: dict[frozenset[str], _ShownTable | None] = {}
        self.possible = _possible(release, table)
        # Cells and totals of one measured block are sums of disjoint, independent parts.
        self.is_plain = len(release.blocks) == 1 and table.is_unbiased
        self.row_total = totals and bool(rows) and self._margin(columns, layers) is not None
        self.column_total = totals and bool(columns) and self._margin(rows, layers) is not None

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
            return self._total(self.release, self.release.margin(*names))
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
        sheets = []
        for layer in _positions(self.layers):
            title = tuple((axis.name, axis.labels[layer[axis.name]]) for axis in self.layers)
            sheets.append(Sheet(title=title, lines=tuple(self._lines(layer))))
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

    def _lines(self, layer: dict[str, int]) -> Iterator[Line]:
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

    def _cells(self, layer: dict[str, int], row: dict[str, int], *, is_total: bool) -> Iterator[Cell]:
        kept = [] if is_total else self.rows
        for column in _positions(self.columns):
            yield self._cell(self._margin(kept, self.columns, self.layers), layer, row, column, is_total)
        if self.column_total:
            yield self._cell(self._margin(kept, self.layers), layer, row, {}, True)

    def _cell(
        self,
        part: _ShownTable | None,
        layer: dict[str, int],
        row: dict[str, int],
        column: dict[str, int],
        is_total: bool,
    ) -> Cell:
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
            return Cell(
                value=known(value),
                half=half,
                half_with_sampling=sampled,
                mark=mark,
                is_total=is_total,
                least=self.possible[0],
                most=self.possible[1],
            )
        whole = self._whole(layer, row, column)
        share, error = share_of(value, variance, whole) if whole else (None, None)
        if half is None or not self.is_plain:
            error = None
        factor = NormalDist().inv_cdf(0.5 + self.confidence / 2)
        return Cell(
            value=share,
            # A sum's share of itself is no measurement: it has no margin.
            half=factor * error if error else None,
            mark=mark,
            is_total=is_total,
            is_percent=True,
            least=0.0,
        )

    def _whole(self, layer: dict[str, int], row: dict[str, int], column: dict[str, int]) -> tuple[float, float] | None:
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
    spans = []
    width = 1
    for axis in reversed(axes):
        spans.append(width)
        width *= len(axis)
    return spans[::-1]


def _heads(axes: Sequence[Axis]) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Column headings, one line an axis, each label with the number of columns below it."""
    heads: list[tuple[tuple[str, int], ...]] = []
    repeat = 1
    for axis, span in zip(axes, _spans(axes), strict=True):
        heads.append(tuple((label, span) for _ in range(repeat) for label in axis.labels))
        repeat *= len(axis)
    return tuple(heads)


def flat(crosstab: Crosstab) -> list[dict[str, Any]]:
    """The cells that are not totals, with their labels: what charts draw."""
    columns = [" · ".join(labels) for labels in product(*(axis.labels for axis in crosstab.column_axes))]
    cells = []
    for sheet in crosstab.sheets:
        rows = product(*(axis.labels for axis in crosstab.row_axes))
        lines = [line for line in sheet.lines if not line.is_total]
        for labels, line in zip(rows, lines, strict=True):
            for column, cell in zip(columns, line.cells, strict=False):
                cells.append(
                    {
                        "layer": " · ".join(label for _, label in sheet.title),
                        "row": " · ".join(labels),
                        "column": column,
                        "cell": cell,
                    }
                )
    return cells
