"""Releases in the terminal: their subject, then every table in its layout, with its caption."""

from itertools import product
from math import ceil

from rich.cells import cell_len
from rich.table import Table as RichTable

from dalenius.cli.output import console, say
from dalenius.core.release import Release
from dalenius.shown import speech
from dalenius.shown.crosstab import Cell, Sheet
from dalenius.shown.display import Display, displayed
from dalenius.shown.finished import SIGNS, FinishedTable, finished, listed, listing

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
    if not release.members and subject.universe:
        say(subject.universe)
    say(source.guarantee)
    say((f"For specialists: {source.formal_guarantee}", "dim"))
    for warning in (w for w in source.warnings if w not in subject.universe):
        say(("Note:", "yellow"), f" {warning}")
    titles = iter(speech.titles(release))
    for part in release.parts:
        if release.members:
            say("\n" if part.about.title else "", (part.about.title, "bold"))
            if part.about.universe:
                say(part.about.universe)
        if not part.tables:
            say(("The outcome was 'no reply'. It was charged like any other.", "yellow"))
        for display, title in zip(displayed(part), titles, strict=False):
            print_table(part, display, title, confidence=confidence, most_rows=most_rows)


def print_table(release: Release, display: Display, title: str, *, confidence: float, most_rows: int) -> None:
    """One table: crossed as asked for where that fits the terminal, otherwise one line a cell; then its caption."""
    out, table = console(), display.table
    shown = finished(release, display, confidence, title=title, most_lines=most_rows)
    say("\n", (shown.title, "italic"))
    sheets = _crossed(shown, most_rows, out.width) if len(table.space.axes) > 1 else []
    more, caption = 0, shown.caption
    if not sheets:
        lines = listed(release, display, confidence, title, most_rows)
        sheets, more = [("", _listed(lines, confidence))], lines.crosstab.left_out
        caption = lines.caption
    for name, grid in sheets:
        if name:
            say((name, "bold"))
        # A table that does not fit is printed as wide as it is, and the terminal breaks its lines.
        out.width = max(console().width, _width(grid))
        out.print(grid)
    if more:
        say((f"{more:,} more cells; `dalenius show --rows 0` shows all.", "dim"))
    say((caption, "dim"))


def _width(grid: RichTable) -> int:
    return 1 + sum(3 + (column.min_width or 0) for column in grid.columns)


def _crossed(shown: FinishedTable, most_rows: int, width: int) -> list[tuple[str, RichTable]]:
    """A name and a grid for each sheet; nothing where there are no columns, or too many rows to cross.

    A sheet that is too wide for the terminal is printed in panels, each with some of the columns.
    """
    crosstab = shown.crosstab
    if not crosstab.column_axes or crosstab.left_out:
        return []
    heads = [shown.name(axis.name) for axis in crosstab.row_axes] or [""]
    heads += [" · ".join(labels) for labels in product(*(axis.labels for axis in crosstab.column_axes))]
    if crosstab.has_totals:
        heads.append(shown.total(is_row=False))
    stubs, sheets = max(len(crosstab.row_axes), 1), []
    for sheet in crosstab.sheets:
        name = "; ".join(f"{shown.name(axis)}: {label}" for axis, label in sheet.title)
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
        labels = [label for label, _ in line.labels] or [shown.total(is_row=True)]
        # A label stands once for the lines below that share it.
        stub = [*labels, *[""] * (width - len(labels))] if line.is_total else [*[""] * (width - len(labels)), *labels]
        lines.append([*stub, *(_cell(shown, cell) for cell in line.cells)])
    return lines


def _cell(shown: FinishedTable, cell: Cell) -> str:
    """A number with its mark and its error, and the one with sampling in brackets."""
    noise, *wider = shown.errors(cell) or ("",)
    noise = noise if noise.startswith("±") or not noise else f"({noise})"
    value = shown.value(cell) + SIGNS[cell.mark]
    return " ".join(filter(None, [value, noise, *(f"({each.removeprefix('± ')})" for each in wider)]))


def _listed(shown: FinishedTable, confidence: float) -> RichTable:
    """One line a cell; of two margins and two intervals the intervals stay where not all of it fits."""
    heads, lines, labels = listing(shown, confidence)
    grid = _grid(heads, lines, labels)
    if not speech.has_sampling(shown.table) or _width(grid) <= console().width:
        return grid
    columns = [place for place, head in enumerate(heads) if not head.startswith("±")]
    return _grid(heads, lines, labels, columns)


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
