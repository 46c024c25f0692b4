"""A table ready to be read: title and caption in words, cells in digits. Renderers add markup and leave out rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dalenius.core.release import Release, Table
from dalenius.shown.crosstab import MARGIN, Cell, Crosstab, Places, asked_layout, lay_out
from dalenius.shown.display import Display
from dalenius.shown.speech import DEFAULT, caption_below, titled
from dalenius.shown.words import above, ends, number, percent_digits, word


@dataclass(frozen=True, eq=False, kw_only=True)
class FinishedTable:
    """The cells of a table with the words around them, for readers of one language."""

    title: str
    caption: str
    crosstab: Crosstab
    digits: int
    language: str = DEFAULT
    error_as: str = MARGIN

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
        if cell.value is None or not cell.half:
            return ()
        if not cell.half_with_sampling:
            return (self._error(cell),)
        wider = self._error(replace(cell, half=cell.half_with_sampling))
        return self._error(cell), f"{wider} {word('with_sampling', self.language)}"

    def _error(self, cell: Cell) -> str:
        """A margin, or an interval where it is asked for or declared bounds cut it; never narrower than it is."""
        half, low, high = cell.half or 0.0, cell.lower, cell.upper
        scale, digits, unit = (100, percent_digits(half), "\u202f%") if cell.is_percent else (1, self.digits, "")
        if (self.error_as != MARGIN or cell.is_cut) and low is not None and high is not None:
            return ends(scale * low, scale * high, digits, self.language) + unit
        return f"± {above(scale * half, digits, self.language)}{unit}"


def finished(
    release: Release,
    display: Display,
    confidence: float,
    language: str = DEFAULT,
    *,
    error_as: str = MARGIN,
    places: Places | None = None,
    read: Callable[[Table], Table] = lambda table: table,
    **layout: Any,
) -> FinishedTable:
    """Return a table of a release, as it was asked for where no `places` are given; the rest is for `lay_out`.

    `read` gives the table with labels in the reader's words.
    """
    table = display.table
    where = asked_layout(release.about, table) if places is None else places
    return FinishedTable(
        title=titled(release, table, language),
        caption=caption_below(release, display, confidence, language),
        crosstab=lay_out(release, read(table), **where, confidence=confidence, shown=display.values, **layout),
        digits=display.digits,
        language=language,
        error_as=error_as,
    )
