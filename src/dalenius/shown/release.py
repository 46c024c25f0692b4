"""Releases where people work with them: two lines in a terminal, tables and pictures in a notebook."""

from html import escape
from itertools import product

from dalenius import rendering
from dalenius.algebra import tabulation
from dalenius.algebra.tabulation import bounds, errors_in_words, sampled_bounds
from dalenius.core.estimate import level
from dalenius.core.law import FloatArray
from dalenius.core.release import SELECTION, Provenance, Release, Table
from dalenius.rendering import Axes, PandasFrame, PolarsFrame, draw_cells, framed, paragraphs, text_lines, two_lines
from dalenius.shown import answers
from dalenius.shown.answers import labelled_table
from dalenius.shown.crossed import STYLE, crossed
from dalenius.shown.display import Display, displayed
from dalenius.shown.finished import finished, listed, listing
from dalenius.shown.speech import as_read, classified, has_error, title_of_release, titled, titles
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
        tables, left_out = self._first(release)
        parts = [_text_of_table(part, display, title) for part, display, title in tables]
        more = f"{left_out} more table{'' if left_out == 1 else 's'}: release.tables." if left_out > 0 else ""
        silent = "" if release.tables else word("no_reply")
        subject, source = release.about, release.provenance
        notes = "\n".join(filter(None, (subject.universe, source.guarantee, _formal(source))))
        return "\n\n".join(filter(None, (subject.title, *parts, more, silent, notes)))

    def _first(self, release: Release) -> tuple[list[tuple[Release, Display, str]], int]:
        """The first tables with their titles, and how many more there are."""
        every = [(part, display) for part in release.parts for display in displayed(part)]
        named = [(part, display, title) for (part, display), title in zip(every, titles(release), strict=True)]
        return named[:_MOST_TABLES], len(named) - _MOST_TABLES

    def html(self) -> str:
        release = as_read(self._release)
        source, subject = release.provenance, release.about
        title = f"<h2>{escape(subject.title)}</h2>" if subject.title else ""
        first, left_out = self._first(release)
        parts = [
            (part, crossed(finished(part, display, _CONFIDENCE, title=own), _MOST_ROWS)) for part, display, own in first
        ]
        tables = "".join(_of_batch(part, table) if release.members else table for part, table in parts)
        where = "release.members" if release.members else "release.tables"
        more = f"{left_out} more table{'' if left_out == 1 else 's'}: {where}." if left_out > 0 else ""
        silent = "" if release.tables else word("no_reply")
        notes = (more, silent, subject.universe, source.guarantee, _formal(source), *source.warnings)
        return framed(f"<style>{STYLE}</style>{title}{tables}{paragraphs(*dict.fromkeys(notes))}")

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
        """Draw every cell of a table on its intervals."""
        stored = self._release.owner(table)
        release = as_read(stored)
        table = labelled_table(stored, release, table)
        order = release.asked_order(table)
        cells = tabulation.cells_in_order(table.space, order)
        # One number is named by the title.
        labels = [
            " | ".join(label) if classified(release, table) else ""
            for label in product(*(table.space.axes[axis].labels for axis in order))
        ]
        caption = f"value, {level(confidence)} margin of error (privacy noise)" if has_error(table) else "value"
        if table.sampled is not None:
            caption += "; thin: noise and sampling"
        if table.measure == SELECTION:
            labels, caption = [f"selected: {label}" for label in labels], ""
        ends = [*bounds(release, table, confidence), *sampled_bounds(release, table, confidence)]
        values, lower, upper, *wider = (column[cells] for column in (table.values, *ends))
        title = titled(release, table)
        return draw_cells(labels, values, lower, upper, wider=wider, title=title, caption=caption, path=path)


def _text_of_table(release: Release, display: Display, title: str) -> str:
    """Title, one line per cell, and the caption."""
    shown = listed(release, display, _CONFIDENCE, title, _MOST_ROWS)
    heads, lines, labels = listing(shown)
    more = f"{shown.crosstab.left_out:,} more rows." if shown.crosstab.left_out else ""
    return "\n".join(filter(None, (shown.title, text_lines([heads, *lines], range(labels)), more, shown.caption)))


def _of_batch(part: Release, table: str) -> str:
    """A table of a batch between its own words: the title above, whose records it counts below."""
    title = f"<h2>{escape(part.about.title)}</h2>" if part.about.title else ""
    below = paragraphs(part.about.universe)
    return f'<div style="margin-bottom:1.2em">{title}{table}{below}</div>'


def _formal(source: Provenance) -> str:
    return f"{word('specialists')}: {source.formal_guarantee}" if source.formal_guarantee else ""
