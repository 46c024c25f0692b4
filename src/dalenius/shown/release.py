"""Releases where people work with them: two lines in a terminal, tables and pictures in a notebook."""

from html import escape
from itertools import product

from dalenius import rendering
from dalenius.algebra import tabulation
from dalenius.algebra.tabulation import bounds, columns, errors_in_words
from dalenius.core.estimate import level
from dalenius.core.law import FloatArray
from dalenius.core.release import SELECTION, Provenance, Release, Subject, Table
from dalenius.rendering import Axes, PandasFrame, PolarsFrame, draw_cells, framed, paragraphs, text_grid, two_lines
from dalenius.shown import answers
from dalenius.shown.answers import labelled_table
from dalenius.shown.crossed import crossed
from dalenius.shown.display import displayed
from dalenius.shown.speech import as_read, caption, classified, conditions, has_error, heading, title_of_release, titled
from dalenius.shown.words import word

__all__ = ["ReleaseDisplay"]

_MOST_TABLES, _MOST_ROWS = 4, 40
_CONFIDENCE = 0.95


class ReleaseDisplay:
    """A release as two lines, as text, as HTML, as data frames and as pictures of its tables."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def lines(self) -> str:
        """Return what was released of which data, and how large the errors are."""
        release = as_read(self._release)
        source, subject = release.provenance, release.about
        if not release.tables:
            return two_lines(f"Release of {source.dataset} {source.version}", "the outcome was 'no reply'")
        title = subject.title or title_of_release(release)
        others = 0 if release.members else len(release.tables) - 1
        more = f" and {others} more table{'' if others == 1 else 's'}" if others else ""
        amounts = ", ".join(f"{name} {amount}" for name, amount in source.budget.items() if name != "definition")
        cells = f"{release.table.space.size:,} cells" if release.table.space.size > 1 else "1 cell"
        if release.members:
            size = f"{len(release.members)} tables charged as one"
        else:
            size = f"{cells}, {errors_in_words(release.table)}"
        return two_lines(
            f"Release of {source.dataset} {source.version}: {title}{more}",
            f"{size}, {source.definition} {amounts}, {release.status}",
        )

    def text(self) -> str:
        """Return a few tables as lines of plain text, with universe and guarantee below; needs no extra."""
        release = as_read(self._release)
        every = [(part, table) for part in release.parts for table in part.tables]
        tables = [_text_of_table(part, table) for part, table in every[:_MOST_TABLES]]
        left_out = len(every) - _MOST_TABLES
        more = f"{left_out} more table{'' if left_out == 1 else 's'}: release.tables." if left_out > 0 else ""
        silent = "" if every else word("no_reply")
        subject, source = release.about, release.provenance
        only = _only(subject)
        notes = "\n".join(filter(None, (only, subject.universe, source.guarantee, _formal(source))))
        return "\n\n".join(filter(None, (subject.title, *tables, more, silent, notes)))

    def html(self) -> str:
        release = as_read(self._release)
        source, subject = release.provenance, release.about
        title = f"<h2>{escape(subject.title)}</h2>" if subject.title else ""
        every = [(part, one) for part in release.parts for one in displayed(part)]
        parts = [(part, crossed(part, one, _CONFIDENCE, _MOST_ROWS)) for part, one in every[:_MOST_TABLES]]
        tables = "".join(_of_batch(part, table) if release.members else table for part, table in parts)
        left_out = len(release.tables) - _MOST_TABLES
        where = "release.members" if release.members else "release.tables"
        more = f"{left_out} more table{'' if left_out == 1 else 's'}: {where}." if left_out > 0 else ""
        silent = "" if release.tables else word("no_reply")
        notes = (more, silent, _only(subject), subject.universe, source.guarantee, _formal(source), *source.warnings)
        return framed(title + tables + paragraphs(*dict.fromkeys(notes)))

    def interval(self, confidence: float, *, with_sampling: bool) -> tuple[FloatArray, FloatArray]:
        """Return both ends of every cell's interval, in the shape of `release.values`."""
        table = self._release.table
        ends = tabulation.sampled_bounds if with_sampling else tabulation.bounds
        lower, upper = ends(self._release.owner(table), table, confidence)
        order = self._release.asked_order(table)
        return lower.reshape(table.shape).transpose(order), upper.reshape(table.shape).transpose(order)

    def margin(self, *names: str) -> Table:
        return tabulation.margin(self._release, *names)

    def pandas(self, table: Table, confidence: float) -> PandasFrame:
        return rendering.pandas_frame(answers.columns(self._release.owner(table), table, confidence))

    def polars(self, table: Table, confidence: float) -> PolarsFrame:
        return rendering.polars_frame(answers.columns(self._release.owner(table), table, confidence))

    def plot(self, path: object, table: Table, confidence: float) -> Axes:
        """Draw every cell of a table on its interval."""
        stored = self._release.owner(table)
        release = as_read(stored)
        table = labelled_table(stored, release, table)
        lower, upper = bounds(release, table, confidence)
        # One number is named by the title.
        order = release.asked_order(table)
        cells = tabulation.cells_in_order(table.space, order)
        labels = [
            " | ".join(label) if classified(release, table) else ""
            for label in product(*(table.space.axes[axis].labels for axis in order))
        ]
        caption = f"value, {level(confidence)} margin of error (privacy noise)" if has_error(table) else "value"
        title = heading(release, table)
        if table.measure == SELECTION:
            labels, caption = [f"selected: {label}" for label in labels], ""
        values, lower, upper = (column[cells] for column in (table.values, lower, upper))
        return draw_cells(labels, values, lower, upper, title=title, caption=caption, path=path)


def _text_of_table(release: Release, table: Table) -> str:
    """Heading, one line per cell, and what the ends are; columns without a number are left out."""
    every = columns(release, table, _CONFIDENCE)
    filled = {name: cells for name, cells in every.items() if set(cells) - {None, "released"}}
    ends = f"lower and upper: {level(_CONFIDENCE)} interval for privacy noise."
    below = ends if "lower" in filled else "" if table.measure == SELECTION else caption(release, table)
    return "\n".join(filter(None, (titled(release, table), text_grid(filled), below)))


def _of_batch(part: Release, table: str) -> str:
    """A table of a batch between its own words: the title above, whose records it counts below."""
    title = f"<h2>{escape(part.about.title)}</h2>" if part.about.title else ""
    below = paragraphs(_only(part.about), part.about.universe)
    return f'<div style="margin-bottom:1.2em">{title}{table}{below}</div>'


def _formal(source: Provenance) -> str:
    return f"{word('specialists')}: {source.formal_guarantee}" if source.formal_guarantee else ""


def _only(subject: Subject) -> str:
    return f"Only {'; '.join(conditions(subject))}." if subject.where else ""
