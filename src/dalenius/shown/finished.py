"""A release as tables that are ready to be read: titles and captions in words, cells in digits.

Renderers add markup, and leave out rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from dalenius.algebra.tabulation import CARE, UNRELIABLE
from dalenius.core.estimate import level
from dalenius.core.release import Release, Table
from dalenius.shown.crosstab import MARGIN, Cell, Crosstab, Places, Uncertainty, asked_layout, lay_out
from dalenius.shown.display import Display, displayed
from dalenius.shown.speech import DEFAULT, caption, classified, has_sampling, in_order, name_of, remarks, titles
from dalenius.shown.words import above, ends, number, percent_digits, word

# Of larger tables the first lines are laid out.
MOST_CELLS, _FIRST_LINES = 20_000, 100
SIGNS = {CARE: "†", UNRELIABLE: "‡", "": ""}


@dataclass(frozen=True, eq=False, kw_only=True)
class FinishedTable:
    """The cells of a table with the words around them, for readers of one language."""

    release: Release
    table: Table
    title: str
    caption: str
    crosstab: Crosstab
    digits: int
    language: str = DEFAULT
    error_as: str = MARGIN

    def name(self, axis: str) -> str:
        """Return what an axis is called, given its name."""
        return name_of(self.release.about, axis, self.language)

    def total(self, *, is_row: bool) -> str:
        """Return what the line or the column of totals is called."""
        crosstab = self.crosstab
        is_part = crosstab.is_row_total_of_shown if is_row else crosstab.is_column_total_of_shown
        return word("total_shown" if is_part else "total", self.language)

    def value(self, cell: Cell) -> str:
        """Return the number of a cell, or what stands in its place."""
        if cell.value is None:
            key = "structural" if cell.is_structural else "selected" if cell.is_selected else ""
            return word(key, self.language) if key else "–"
        if not cell.is_percent:
            return number(cell.value, self.digits, self.language)
        digits = 1 if cell.half is None else percent_digits(cell.half)
        return f"{number(100 * cell.value, digits, self.language)}\u202f%"

    def errors(self, cell: Cell) -> tuple[str, ...]:
        """Return the error of the noise and the one with sampling, as far as they are known."""
        texts = [self._error(cell, error) for error in cell.errors]
        return tuple(
            f"{text} {word('with_sampling', self.language)}" if place else text for place, text in enumerate(texts)
        )

    def _error(self, cell: Cell, error: Uncertainty) -> str:
        """A margin, or an interval where it is asked for or declared bounds cut it."""
        is_interval = self.error_as != MARGIN or error.is_cut
        return self.interval(cell, error) if is_interval else self.margin(cell, error)

    def margin(self, cell: Cell, error: Uncertainty) -> str:
        """Return a margin of error, never smaller than it is."""
        scale, digits, unit = self._scale(cell)
        return f"± {above(scale * error.half, digits, self.language)}{unit}"

    def interval(self, cell: Cell, error: Uncertainty) -> str:
        """Return both ends, never narrower than they are."""
        scale, digits, unit = self._scale(cell)
        return ends(scale * error.lower, scale * error.upper, digits, self.language) + unit

    def _scale(self, cell: Cell) -> tuple[int, int, str]:
        return (100, percent_digits(cell.half or 0.0), "\u202f%") if cell.is_percent else (1, self.digits, "")


def listing(shown: FinishedTable, confidence: float = 0.95) -> tuple[list[str], list[list[str]], int]:
    """Heads and one line for each cell of a table that was `listed`, and how many columns are labels.

    Value, margin and interval stand in columns of their own; a column in which nothing would stand is left out.
    """
    crosstab, language = shown.crosstab, shown.language
    # A number that its title names has no label.
    axes = crosstab.row_axes if classified(shown.release, shown.table) else ()
    labels = product(*(axis.labels for axis in axes))
    cells = (line.cells[0] for sheet in crosstab.sheets for line in sheet.lines)
    heads = [*(shown.name(axis.name) for axis in axes), word("value", language)]
    columns = 2 * crosstab.has_margins * (1 + has_sampling(shown.table))
    wider = word("with_sampling", language)
    interval = word("interval", language)
    heads += [f"± {level(confidence)}", interval, f"± {wider}", f"{interval} {wider}"][:columns]
    lines = []
    for names, cell in zip(labels, cells, strict=False):
        errors = [
            text for error in cell.errors for text in (shown.margin(cell, error)[2:], shown.interval(cell, error))
        ]
        lines.append([*names, shown.value(cell) + SIGNS[cell.mark], *(errors + [""] * columns)[:columns]])
    return heads, lines, len(axes)


def listed(release: Release, display: Display, confidence: float, title: str, most_lines: int) -> FinishedTable:
    """Return a table with one line for each cell, in the order in which its axes were asked for."""
    axes = [axis.name for axis in in_order(release.about, display.table.space.axes)]
    places = Places(rows=axes)
    return finished(release, display, confidence, title=title, places=places, totals=False, most_lines=most_lines)


def finished(
    release: Release,
    display: Display,
    confidence: float,
    language: str = DEFAULT,
    *,
    title: str = "",
    error_as: str = MARGIN,
    places: Places | None = None,
    **layout: Any,
) -> FinishedTable:
    """Return a table of a release, as it was asked for where no `places` are given; the rest is for `lay_out`."""
    table = display.table
    where = asked_layout(release.about, table) if places is None else places
    if table.space.size > MOST_CELLS:
        layout = {"most_lines": _FIRST_LINES, **layout}
    crosstab = lay_out(release, table, **where, confidence=confidence, shown=display.values, **layout)
    # Totals are cells of other tables, which may have an error that no cell of this one has.
    cells = (cell for sheet in crosstab.sheets for line in sheet.lines for cell in line.cells)
    is_sampled, is_interval = any(len(cell.errors) > 1 for cell in cells), error_as != MARGIN and crosstab.has_margins
    below = caption(release, table, confidence, language, is_interval=is_interval, is_sampled=is_sampled)
    return FinishedTable(
        release=release,
        table=table,
        title=title or titles(release.with_(tables=(table,)), language)[0],
        caption=" ".join([below, *remarks(display, crosstab.marks, language)]),
        crosstab=crosstab,
        digits=display.digits,
        language=language,
        error_as=error_as,
    )


def finished_tables(
    release: Release, confidence: float = 0.95, language: str = DEFAULT, **layout: Any
) -> Iterator[FinishedTable]:
    """Every table of a release, each with a title of its own."""
    every = ((part, display) for part in release.parts for display in displayed(part))
    for (part, display), title in zip(every, titles(release, language), strict=True):
        yield finished(part, display, confidence, language, title=title, **layout)
