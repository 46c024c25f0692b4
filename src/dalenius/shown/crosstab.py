"""A released table laid out in rows, columns and layers, every number with its margin of error.

Works on released values and public laws alone. Totals are published margins, or sums of independent cells whose
variances add; where neither is valid, no total is shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf, isfinite, isinf, prod, sqrt
from statistics import NormalDist
from typing import Any, TypedDict

import numpy as np

from dalenius.algebra.tabulation import bounds, estimate_of, margin, sampled_bounds
from dalenius.core.domain import Axis
from dalenius.core.law import Additive, FloatArray
from dalenius.core.release import ADDITIVE, POSSIBLE, SELECTION, Release, Subject, Table
from dalenius.errors import InternalError, RequestError
from dalenius.shown.charts import Mark

CARE, UNRELIABLE = "care", "unreliable"
# Whether a reader sees the error of a number as plus and minus, or as the ends of its interval.
MARGIN, INTERVAL = "margin", "interval"
CARE_ABOVE, UNRELIABLE_ABOVE = 1 / 6, 1 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number as shown: value, half-width of its interval, the least it can be, and how far to trust it.

    `half` is of the privacy noise alone, `half_with_sampling` of noise and sampling together where that was estimated.
    A number that is not known is None: NaN and infinity are refused, because comparisons with them read as verdicts.
    """

    value: float | None
    half: float | None = None
    half_with_sampling: float | None = None
    mark: str = ""
    is_total: bool = False
    is_structural: bool = False
    is_percent: bool = False
    least: float = 0.0
    is_selected: bool = False
    most: float = inf

    def __post_init__(self) -> None:
        if any(x is not None and not isfinite(x) for x in (self.value, self.half, self.half_with_sampling)):
            raise InternalError("A number of a cell is finite, or it is None.")

    @property
    def lower(self) -> float | None:
        """Lower end, cut at the least possible number: a count is never negative."""
        if self.value is None or self.half is None:
            return None
        return min(max(self.value - self.half, self.least), self.most)

    @property
    def upper(self) -> float | None:
        if self.value is None or self.half is None:
            return None
        return min(max(self.value + self.half, self.least), self.most)

    @property
    def is_cut(self) -> bool:
        """Whether declared bounds end its interval before its margin of error does."""
        if self.value is None or self.half is None or isinf(self.most):
            return False
        return self.value - self.half < self.least or self.value + self.half > self.most


def known(number: float) -> float | None:
    """The number, or None where it is NaN or infinite: what is compared is known.

    >>> known(3.0), known(float("nan")), known(float("inf"))
    (3.0, None, None)
    """
    return number if isfinite(number) else None


def half_widths(release: Release, table: Table, confidence: float) -> FloatArray:
    """Half the width of each cell's interval: exact from the law of one block, otherwise normal at its variance.

    None (NaN) where numbers were moved to agree with others: the law of their error is not known.
    """
    if any(adjustment.get("name") == "anchor" for adjustment in release.adjustments):
        return np.full(table.values.shape, np.nan)
    if estimate_of(release, table) is not None:
        return _farther(table, *bounds(release, table, confidence))
    normal: FloatArray = NormalDist().inv_cdf(0.5 + confidence / 2) * table.std_error
    block = next((b for b in release.blocks if b.name == table.name and b.role == "table"), None)
    if block is None or not isinstance(block.law, Additive) or not table.is_unbiased:
        return normal
    # A name may return for sums of cells (own groups of a stored list); only a cell with the law's own variance has it.
    exact = block.law.half_width(confidence) * float(block.law.step)
    return np.where(np.isclose(table.variance, block.law.variance), exact, normal)


def _farther(table: Table, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The distance to the farther end of an interval that need not be symmetric."""
    return np.maximum(upper - table.values, table.values - lower)


def reliability(value: float, error: float | None) -> str:
    """Nothing up to a coefficient of variation of 1/6, then "care", above 1/3 "unreliable"; nothing without error.

    >>> reliability(100, 10), reliability(100, 20), reliability(100, 50), reliability(-3, 2), reliability(0, 0)
    ('', 'care', 'unreliable', 'unreliable', '')
    >>> reliability(100, None), reliability(-3, None)
    ('', '')
    """
    if error is None or not isfinite(error) or error == 0:
        return ""
    if value <= 0 or error > UNRELIABLE_ABOVE * value:
        return UNRELIABLE
    return CARE if error > CARE_ABOVE * value else ""


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
    marks: frozenset[str]
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
        shape = table.shape
        self.exact = table.values.reshape(shape)
        self.values = self.exact if shown is None else shown.reshape(shape)
        self.variance = table.variance.reshape(shape)
        self.halves = half_widths(release, table, confidence).reshape(shape) + abs(self.values - self.exact)
        # NaN where the error of sampling was not estimated.
        sampled = _farther(table, *sampled_bounds(release, table, confidence))
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
        # A count below zero is noise; totals are judged by their size.
        judged = value if self.table.measure == "count" else abs(value)
        mark = reliability(judged, sqrt(variance)) if half is not None and self.table.measure in ADDITIVE else ""
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
            lower=cell.lower,
            upper=cell.upper,
            is_unreliable=cell.mark == UNRELIABLE,
        )
        for layer, sheet in zip(layers, crosstab.sheets, strict=True)
        for row, line in zip(rows, (line for line in sheet.lines if not line.is_total), strict=True)
        for column, cell in zip(columns, line.cells, strict=False)
    ]
