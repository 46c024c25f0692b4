"""A released table laid out in rows, columns and layers, every number with its margin of error.

Works on released values and public laws alone. Totals are published margins, or sums of independent cells whose
variances add; where neither is valid, no total is shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from math import inf, isfinite, prod, sqrt
from statistics import NormalDist
from typing import TypedDict

import numpy as np

from dalenius.algebra.tabulation import UNRELIABLE, intervals, margin, marks
from dalenius.core.domain import Axis
from dalenius.core.law import FloatArray
from dalenius.core.release import ADDITIVE, POSSIBLE, SELECTION, Release, Subject, Table
from dalenius.errors import InternalError, RequestError
from dalenius.shown.charts import Mark

# Whether a reader sees the error of a number as plus and minus, or as the ends of its interval.
MARGIN, INTERVAL = "margin", "interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """How far a number may be off: half the width of an interval that is as long to both sides, and its own ends.

    `is_cut` says that declared bounds end the interval before its margin of error does.
    """

    half: float
    lower: float
    upper: float
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number as shown: value, its errors, and how far to trust it.

    `error` is of the privacy noise alone, `error_with_sampling` of both where that was estimated. A number that is not
    known is None: NaN and infinity are refused, because comparisons with them read as verdicts.
    """

    value: float | None
    error: Uncertainty | None = None
    error_with_sampling: Uncertainty | None = None
    mark: str = ""
    is_total: bool = False
    is_structural: bool = False
    is_percent: bool = False
    is_selected: bool = False

    def __post_init__(self) -> None:
        if any(x is not None and not isfinite(x) for x in (self.value, self.half, self.half_with_sampling)):
            raise InternalError("A number of a cell is finite, or it is None.")

    @property
    def half(self) -> float | None:
        return None if self.error is None else self.error.half

    @property
    def half_with_sampling(self) -> float | None:
        return None if self.error_with_sampling is None else self.error_with_sampling.half

    @property
    def errors(self) -> tuple[Uncertainty, ...]:
        """The errors that are known; none of a number without noise."""
        if self.value is None or not self.half:
            return ()
        return tuple(each for each in (self.error, self.error_with_sampling) if each is not None and each.half)


def known(number: float) -> float | None:
    """The number, or None where it is NaN or infinite: what is compared is known.

    >>> known(3.0), known(float("nan")), known(float("inf"))
    (3.0, None, None)
    """
    return number if isfinite(number) else None


def share_of(value: float, variance: float, whole: tuple[float, float]) -> tuple[float | None, float | None]:
    """A part of a sum that contains it, and its standard error by linearisation; nothing if the sum is too vague.

    The part and the rest carry independent noise, so cov(part, sum) = var(part). A sum of unknown error is too vague.
    """
    total, total_variance = whole
    if not (total > 0 and total >= 3 * sqrt(total_variance)):
        return None, None
    share = value / total
    spread = max(variance * (1 - 2 * share) + share**2 * total_variance, 0.0)
    return share, known(sqrt(spread) / total)


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
    # Marks and errors of all numbers, and how many lines there are, also where only the first lines are laid out.
    marks: frozenset[str]
    has_margins: bool = False
    left_out: int = 0
    # Variables of which the release shows a part.
    parts: tuple[str, ...] = ()

    @property
    def is_row_total_of_shown(self) -> bool:
        """Whether the line of totals leaves out records with other values of what it sums over."""
        return self._sums_a_part(self.column_axes)

    @property
    def is_column_total_of_shown(self) -> bool:
        return self._sums_a_part(self.row_axes)

    def _sums_a_part(self, fixed: tuple[Axis, ...]) -> bool:
        return bool(set(self.parts) - {axis.variable for axis in (*fixed, *self.layer_axes)})

    @property
    def width(self) -> int:
        return len(self.sheets[0].lines[0].cells) if self.sheets and self.sheets[0].lines else 1


class _ShownTable:
    def __init__(self, release: Release, table: Table, confidence: float, shown: FloatArray | None = None) -> None:
        """`shown` are the numbers that readers see; how far they were moved is added to the margins of error."""
        self.names = [axis.name for axis in table.space.axes]
        self.exact = table.values.reshape(table.shape)
        self.values = self.exact if shown is None else shown.reshape(table.shape)
        self.variance = table.variance.reshape(table.shape)
        errors = intervals(release, table, confidence)
        self.marks = marks(table, errors, self.values).reshape(table.shape)
        self.is_bounded = any(a.get("name") == POSSIBLE and a.get("table") == table.name for a in release.adjustments)
        # NaN where an error is not known.
        moved = abs(self.values - self.exact)
        self.errors = [
            (half.reshape(table.shape) + moved, *(end.reshape(table.shape) for end in ends)) for half, *ends in errors
        ]
        structural = np.zeros(table.space.size, dtype=bool)
        structural[list(table.space.structural_indices)] = True
        self.structural = structural.reshape(table.shape)

    def cell(self, position: Place, *, is_total: bool) -> Cell:
        index = tuple(position[name] for name in self.names)
        if self.structural[index]:
            return Cell(value=None, is_structural=True, is_total=is_total)
        value = known(float(self.values[index]))
        error, wider = (self._error(value, *(float(part[index]) for part in parts)) for parts in self.errors)
        mark = str(self.marks[index])
        return Cell(value=value, error=error, error_with_sampling=wider, mark=mark, is_total=is_total)

    def _error(self, value: float | None, half: float, lower: float, upper: float) -> Uncertainty | None:
        if value is None or not isfinite(half):
            return None
        # A number that was moved for reading lies in its interval too.
        lower, upper = min(lower, value), max(upper, value)
        is_cut = self.is_bounded and (value - half < lower or value + half > upper)
        return Uncertainty(half=half, lower=lower, upper=upper, is_cut=is_cut)

    def measured(self, position: Place) -> tuple[float, float]:
        """A value and its variance."""
        index = tuple(position[name] for name in self.names)
        return float(self.values[index]), float(self.variance[index])


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
    most_lines: int | None = None,
) -> Crosstab:
    """Lay a released table out; axes that are named nowhere join the rows (the last of several joins the columns).

    Lines beyond `most_lines` are left out. `margins` finds a total that the release itself does not hold, by the names
    of its axes. `shown` are the numbers that readers see in the place of the table's own; totals that are sums of the
    table's cells are then sums of these.
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
    builder = _Builder(
        release, table, full, on_rows, on_columns, on_layers, show, totals, confidence, margins, most_lines
    )
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
    most_lines: int | None
    margins: dict[frozenset[str], _ShownTable | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
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
        lines = prod(map(len, self.rows)) + self.row_total
        room = inf if self.most_lines is None else self.most_lines
        layers = [layer for number, layer in enumerate(_positions(self.layers)) if number * lines < room]
        sheets = [
            Sheet(
                title=tuple((axis.name, axis.labels[layer[axis.name]]) for axis in self.layers),
                lines=tuple(islice(self._lines(layer), int(min(lines, room - number * lines)))),
            )
            for number, layer in enumerate(layers)
        ]
        parts = [self.full, *(self._margin(*kept) for kept in self._totals())]
        return Crosstab(
            row_axes=tuple(self.rows),
            column_axes=tuple(self.columns),
            layer_axes=tuple(self.layers),
            heads=_heads(self.columns),
            sheets=tuple(sheets),
            has_totals=self.column_total,
            show=self.show,
            marks=frozenset(mark for part in parts if part for mark in np.unique(part.marks).tolist() if mark),
            has_margins=any(bool(np.any(part.errors[0][0] > 0)) for part in parts if part),
            left_out=lines * prod(map(len, self.layers)) - sum(len(sheet.lines) for sheet in sheets),
            parts=self.release.owner(self.table).about.parts,
        )

    def _totals(self) -> Iterator[tuple[list[Axis], ...]]:
        """The axes of each kind of total that is shown."""
        if self.row_total:
            yield self.columns, self.layers
        if self.column_total:
            yield self.rows, self.layers
        if self.row_total and self.column_total:
            yield (self.layers,)

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
        if self.table.measure == SELECTION:
            return Cell(value=None, is_selected=True)
        cell = part.cell(layer | row | column, is_total=is_total)
        if self.show == "value" or cell.value is None:
            return cell
        whole = self._whole(layer, row, column)
        share, error = share_of(*part.measured(layer | row | column), whole) if whole else (None, None)
        if share is None or not error or cell.half is None or not self.is_plain:
            # A sum's share of itself is no measurement: it has no margin.
            return Cell(value=share, mark=cell.mark, is_total=is_total, is_percent=True)
        half = NormalDist().inv_cdf(0.5 + self.confidence / 2) * error
        ends = Uncertainty(half=half, lower=max(share - half, 0.0), upper=max(share + half, 0.0))
        return Cell(value=share, error=ends, mark=cell.mark, is_total=is_total, is_percent=True)

    def _whole(self, layer: Place, row: Place, column: Place) -> tuple[float, float] | None:
        kept = {"row": self.rows if row else [], "column": self.columns if column else [], "total": []}[self.show]
        part = self._margin(kept, self.layers)
        return None if part is None else part.measured(layer | row | column)


def _positions(axes: Sequence[Axis]) -> Iterator[dict[str, int]]:
    names = [axis.name for axis in axes]
    for index in product(*(range(len(axis)) for axis in axes)):
        yield dict(zip(names, index, strict=True))


def _spans(axes: Sequence[Axis]) -> list[int]:
    return [prod(map(len, axes[place + 1 :])) for place in range(len(axes))]


def _heads(axes: Sequence[Axis]) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Column headings, one line an axis, each label with the number of columns below it."""
    return tuple(
        tuple((label, span) for label in axis.labels) * prod(map(len, axes[:place]))
        for place, (axis, span) in enumerate(zip(axes, _spans(axes), strict=True))
    )


def marks_of(crosstab: Crosstab) -> list[Mark]:
    """The cells that are not totals, as charts draw them: grouped by layer, and by row where there are columns."""
    rows, columns = (
        [" · ".join(labels) for labels in product(*(axis.labels for axis in axes))]
        for axes in (crosstab.row_axes, crosstab.column_axes)
    )
    layers = [" · ".join(label for _, label in sheet.title) for sheet in crosstab.sheets]
    return [
        Mark(
            group=" · ".join(filter(None, (layer, row if crosstab.column_axes else ""))),
            label=column or row,
            value=cell.value,
            lower=cell.error.lower if cell.error else None,
            upper=cell.error.upper if cell.error else None,
            is_unreliable=cell.mark == UNRELIABLE,
        )
        for layer, sheet in zip(layers, crosstab.sheets, strict=True)
        for row, line in zip(rows, (line for line in sheet.lines if not line.is_total), strict=True)
        for column, cell in zip(columns, line.cells, strict=False)
    ]
