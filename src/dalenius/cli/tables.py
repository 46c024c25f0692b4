"""Releases in the terminal: their subject, then every table in its layout, with its caption."""

from collections.abc import Iterator
from itertools import product
from math import ceil, isfinite, isnan

import numpy as np
from rich.cells import cell_len
from rich.table import Table as RichTable

from dalenius.algebra.tabulation import bounds, sampled_bounds
from dalenius.cli.output import console, say
from dalenius.core.estimate import level
from dalenius.core.release import SELECTION, Release
from dalenius.shown import speech
from dalenius.shown.crosstab import Cell, Sheet
from dalenius.shown.display import WHOLE, Display, displayed
from dalenius.shown.finished import FinishedTable, finished
from dalenius.shown.words import above, ends, number, word

_MOST_ROWS = 60
_LEAST_LABEL = 12
# Words of labels up to this length are not broken.
_MOST_WORD = 20
# Columns so wide that each has a panel of its own are printed so up to this number.
_MOST_SINGLE = 4


def print_release(release: Release, *, confidence: float = 0.95, most_rows: int = _MOST_ROWS) -> None:
    """The subject and the guarantee, then every table that fits, with margins of error where there are some."""
    release = speech.as_read(release)
    source, subject = release.provenance, release.about
    if subject.title:
        say((subject.title, "bold"))
    dataset = source.dataset if subject.dataset in ("", source.dataset) else f"{subject.dataset} ({source.dataset})"
    say((dataset, "bold"), f" {source.version}   ", (f"request {source.digest[:12]}", "dim"))
    if not release.members:
        _print_covered(release)
    say(source.guarantee)
    say((f"For specialists: {source.formal_guarantee}", "dim"))
    for warning in (w for w in source.warnings if w not in subject.universe):
        say(("Note:", "yellow"), f" {warning}")
    for part in release.parts:
        if release.members:
            say("\n" if part.about.title else "", (part.about.title, "bold"))
            _print_covered(part)
        if not part.tables:
            say(("The outcome was 'no reply'. It was charged like any other.", "yellow"))
        for display in displayed(part):
            print_table(part, display, confidence=confidence, most_rows=most_rows)


def _print_covered(release: Release) -> None:
    subject = release.about
    if subject.where:
        say(("Only", "bold"), f" {'; '.join(speech.conditions(subject))}")
    if subject.universe:
        say(subject.universe)


def print_table(release: Release, display: Display, *, confidence: float, most_rows: int) -> None:
    """One table: crossed as asked for where that fits the terminal, otherwise one line a cell; then its caption."""
    out, table = console(), display.table
    say("\n", (speech.titled(release, table), "italic"))
    sheets = []
    if len(table.space.axes) > 1 and table.space.size <= 20 * most_rows:
        sheets = _crossed(release, finished(release, display, confidence), most_rows, out.width)
    more = 0 if sheets else table.space.size - most_rows
    for name, grid in sheets or [("", _listed(release, display, confidence, most_rows))]:
        if name:
            say((name, "bold"))
        # A table that does not fit is printed as wide as it is, and the terminal breaks its lines.
        out.width = max(console().width, _width(grid))
        out.print(grid)
    if more > 0:
        say((f"{more:,} more cells; `dalenius show --rows 0` shows all.", "dim"))
    say((speech.caption_below(release, display, confidence), "dim"))


def _width(grid: RichTable) -> int:
    return 1 + sum(3 + (column.min_width or 0) for column in grid.columns)


def _crossed(release: Release, shown: FinishedTable, most_rows: int, width: int) -> list[tuple[str, RichTable]]:
    """A name and a grid for each sheet; nothing where there are no columns, or too many rows to cross.

    A sheet that is too wide for the terminal is printed in panels, each with some of the columns.
    """
    crosstab = shown.crosstab
    if not crosstab.column_axes or sum(len(sheet.lines) for sheet in crosstab.sheets) > most_rows:
        return []
    heads = [speech.name_of(release.about, axis.name) for axis in crosstab.row_axes] or [""]
    heads += [" · ".join(labels) for labels in product(*(axis.labels for axis in crosstab.column_axes))]
    if crosstab.has_totals:
        heads.append("Total of shown" if crosstab.is_column_total_of_shown else "Total")
    stubs, sheets = max(len(crosstab.row_axes), 1), []
    for sheet in crosstab.sheets:
        name = "; ".join(f"{speech.name_of(release.about, axis)}: {label}" for axis, label in sheet.title)
        lines = _sheet_lines(shown, sheet)
        panels = _panels(heads, lines, stubs, width)
        if not panels or len(panels) * len(lines) > 2 * most_rows:
            return []
        sheets += [(name if place == 0 else "", panel) for place, panel in enumerate(panels)]
    return sheets


def _panels(heads: list[str], lines: list[list[str]], stubs: int, width: int) -> list[RichTable]:
    """As few grids as fit the width, the labels in each and the columns divided evenly.

    None if a column does not fit, or if each would stand by itself: then one line a cell is easier to read.
    """
    columns = range(stubs, len(heads))
    for count in range(1, len(columns) + 1):
        size = ceil(len(columns) / count)
        if size == 1 and len(columns) > _MOST_SINGLE:
            return []
        parts = [columns[start : start + size] for start in range(0, len(columns), size)]
        panels = [_grid(heads, lines, stubs, [*range(stubs), *part]) for part in parts]
        if all(_width(panel) <= width for panel in panels):
            return panels
    return []


def _sheet_lines(shown: FinishedTable, sheet: Sheet) -> list[list[str]]:
    width = max(len(shown.crosstab.row_axes), 1)
    lines = []
    for line in sheet.lines:
        total = "Total of shown" if shown.crosstab.is_row_total_of_shown else "Total"
        labels = [label for label, _ in line.labels] or [total]
        # A label stands once for the lines below that share it.
        stub = [*labels, *[""] * (width - len(labels))] if line.is_total else [*[""] * (width - len(labels)), *labels]
        lines.append([*stub, *(_cell(shown, cell) for cell in line.cells)])
    return lines


def _cell(shown: FinishedTable, cell: Cell) -> str:
    """A number with its error, and the one with sampling in brackets."""
    noise, *wider = shown.errors(cell) or ("",)
    noise = noise if noise.startswith("±") or not noise else f"({noise})"
    return " ".join(filter(None, [shown.value(cell), noise, *(f"({each.removeprefix('± ')})" for each in wider)]))


def _listed(release: Release, display: Display, confidence: float, most_rows: int) -> RichTable:
    """One line a cell: labels in the order asked for, value, and margin and interval where the table has an error."""
    table = display.table
    # A number that its heading names has no label.
    axes = speech.in_order(release.about, speech.classified(release, table))
    places = [table.space.axes.index(axis) for axis in axes]
    # Cells in the order in which the labels are read, the last one running fastest.
    shape = table.shape if axes else ()
    cells = np.arange(table.space.size).reshape(shape).transpose(places).ravel()[:most_rows]
    labels = product(*(axis.labels for axis in axes))
    is_known = speech.has_error(table)
    numbers = _numbers(release, display, cells.tolist(), confidence, is_known=is_known)
    lines = [[*cell, *row] for cell, row in zip(labels, numbers, strict=False)]
    heads = [*(speech.axis_label(release.about, axis) for axis in axes), "value"]
    heads += [f"± {level(confidence)}", "interval"] if is_known else []
    if table.sampled is not None:
        heads += ["± with sampling", "interval with sampling"]
    grid = _grid(heads, lines, len(axes))
    if table.sampled is None or not is_known or _width(grid) <= console().width:
        return grid
    # Of two margins and two intervals the intervals stay where not all of it fits.
    columns = [place for place, head in enumerate(heads) if not head.startswith("±")]
    heads[heads.index("interval")] = f"interval {level(confidence)}"
    return _grid(heads, lines, len(axes), columns)


def _numbers(
    release: Release, display: Display, cells: list[int], confidence: float, *, is_known: bool
) -> Iterator[list[str]]:
    """Value, margin and interval of some cells; ends are rounded outwards."""
    lower, upper = bounds(release, display.table, confidence)
    wider = list(zip(*sampled_bounds(release, display.table, confidence), strict=True))
    has_sampling = display.table.sampled is not None
    structural = set(display.table.space.structural_indices)
    blank = ["", ""] * (int(is_known) + int(has_sampling))
    for i in cells:
        digits, value = display.digits, float(display.values[i])
        if display.table.measure == SELECTION:
            yield ["selected"]
            continue
        if isnan(value) or i in structural:
            yield ["–" if isnan(value) else word("structural"), *blank]
            continue
        text, low, high = number(value, digits), float(lower[i]), float(upper[i])
        if not (isfinite(low) and isfinite(high)):
            yield [text, *blank]
            continue
        line = _error(value, low, high, digits)
        if display.rounding == WHOLE:
            exact = float(display.table.values[i])
            half = ceil(round(high - exact + abs(value - exact), 6))
            line = [number(half, digits), ends(max(value - half, 0.0), max(value + half, 0.0), digits)]
        sampled = _error(value, float(wider[i][0]), float(wider[i][1]), digits) if has_sampling else []
        yield [text, *line, *sampled]


def _error(value: float, low: float, high: float, digits: int) -> list[str]:
    if not (isfinite(low) and isfinite(high)):
        return ["–", "–"]
    return [above(max(high - value, value - low), digits), ends(low, high, digits)]


def _grid(heads: list[str], lines: list[list[str]], stubs: int, columns: list[int] | None = None) -> RichTable:
    """All columns or some; labels may run over several lines while they can be read, and numbers are never cut."""
    grid = RichTable(header_style="bold")
    columns = columns or list(range(len(heads)))
    for place in columns:
        name, is_label = heads[place], place < stubs
        longest = max((cell_len(line[place]) for line in lines), default=0)
        if is_label:
            words = (cell_len(word) for line in lines for word in line[place].split())
            least = min(max(longest, cell_len(name)), max(_LEAST_LABEL, min(max(words, default=0), _MOST_WORD)))
        else:
            least = max([longest, *(cell_len(word) for word in ([name] if len(name) < 9 else name.split()))])
        grid.add_column(
            name,
            min_width=least,
            width=None if is_label else least,
            overflow="fold",
            justify="left" if is_label else "right",
        )
    for line in lines:
        grid.add_row(*(line[place] for place in columns))
    return grid
