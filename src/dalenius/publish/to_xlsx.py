"""A workbook for people who read tables in a spreadsheet: a cover, notes, and one table a sheet.

A sheet has its title and caption above one table that Excel knows as such, with one line a cell: no merged or empty
cells, and headings that screen readers announce. Numbers are rounded as their error suggests; the document of the
release holds them in full.
"""

from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from math import isfinite, isnan
from typing import Any

from dalenius.algebra.tabulation import CARE, UNRELIABLE, columns, intervals, marks
from dalenius.core.release import Release
from dalenius.errors import MissingExtra
from dalenius.publish._format import Format
from dalenius.shown.finished import FinishedTable, finished_tables
from dalenius.shown.speech import DEFAULT, as_read, title_of_release
from dalenius.shown.words import cited, facts, notes, word
from dalenius.spec.guarantees import told

__all__ = ["XLSX", "to_xlsx"]

# The day that a workbook states as that of its making: equal releases give equal files.
_MADE = datetime(2000, 1, 1)
_WIDEST, _MOST_ROWS = 60, 1_000_000
_MARKED = {CARE: "use with care", UNRELIABLE: "unreliable"}


def to_xlsx(release: Release, confidence: float = 0.95, language: str = DEFAULT) -> bytes:
    """Every table of a release as a workbook; labels are those of the release, in whatever language its words are."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra("formats", "xlsxwriter") from None
    release, out = as_read(release, language), BytesIO()
    # Labels are text: what looks like a formula, a number or an address is none.
    safe = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False, "in_memory": True}
    book = xlsxwriter.Workbook(out, safe)
    title = release.about.title or title_of_release(release, language)
    book.set_properties({"title": title, "subject": release.provenance.dataset, "created": _MADE})
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    heading = book.add_format({"bold": True, "font_size": 14})
    tables = [shown for shown in finished_tables(release, confidence, language) if shown.table.space.size <= _MOST_ROWS]
    names = [f"{word('table', language)} {number}" for number in range(1, len(tables) + 1)]
    universe = dict.fromkeys(part.about.universe for part in release.parts)
    about = [told(text, language) for text in (*universe, release.provenance.guarantee) if text]
    listed = [(name, shown.title) for name, shown in zip(names, tables, strict=True)]
    _texts(
        book.add_worksheet(word("cover", language)), title, [("", text) for text in about] + listed, heading, wrapped
    )
    for name, shown in zip(names, tables, strict=True):
        _table(book, book.add_worksheet(name), shown, confidence, heading)
    remarks = [*facts(release, language), *((word("note", language), note) for note in notes(release, language))]
    remarks += [(word("cite", language), cited(release, shown.title)) for shown in tables]
    _texts(book.add_worksheet(word("notes", language)), word("facts", language), remarks, heading, wrapped)
    book.close()
    return out.getvalue()


def _texts(sheet: Any, title: str, lines: Sequence[tuple[str, str]], heading: Any, wrapped: Any) -> None:
    sheet.set_column(0, 0, 22)
    sheet.set_column(1, 1, 100)
    sheet.write_string(0, 0, title, heading)
    for row, (name, text) in enumerate(lines, start=2):
        sheet.write_string(row, 0, name, wrapped)
        sheet.write_string(row, 1, text, wrapped)


def _table(book: Any, sheet: Any, shown: FinishedTable, confidence: float, heading: Any) -> None:
    """One line a cell: labels, value, errors and intervals, and what a reader must know of it."""
    release, table = shown.release, shown.table
    found = columns(release, table, confidence)
    order = release.asked_order(table)
    marked = marks(table, intervals(release, table, confidence)).reshape(table.shape).transpose(order).ravel()
    *_, states = found.values()
    states[:] = [_MARKED.get(str(mark), state) for mark, state in zip(marked, states, strict=True)]
    labels = len(order)
    heads = [*(shown.name(table.space.axes[axis].name) for axis in order), *list(found)[labels:]]
    digits = "#,##0" + ("." + "0" * shown.digits if shown.digits else "")
    number = book.add_format({"num_format": digits})
    sheet.write_string(0, 0, shown.title, heading)
    sheet.write_string(1, 0, shown.caption)
    lines = [[_rounded(value, shown.digits) for value in line] for line in zip(*found.values(), strict=True)]
    # Two variables may have one label; the heads of a table are different.
    heads = [head if heads.index(head) == n else f"{head} ({n + 1})" for n, head in enumerate(heads)]
    kinds = [number if labels <= n < len(heads) - 1 else None for n in range(len(heads))]
    named = [{"header": head, "format": kind} for head, kind in zip(heads, kinds, strict=True)]
    options = {"name": f"Table{len(book.worksheets()) - 1}", "columns": named, "style": "Table Style Light 1"}
    sheet.add_table(3, 0, 3 + len(lines), len(heads) - 1, {**options, "data": lines})
    for place, (head, column) in enumerate(zip(heads, found.values(), strict=True)):
        longest = max((len(str(value)) for value in column[:500] if isinstance(value, str)), default=10)
        sheet.set_column(place, place, min(max(longest, len(head)) + 3, _WIDEST))
    sheet.freeze_panes(4, labels)


def _rounded(value: object, digits: int) -> object:
    """Return a number rounded for reading; one that is not finite as text, because spreadsheets have none."""
    if not isinstance(value, float):
        return value
    return round(value, digits) if isfinite(value) else "" if isnan(value) else "∞" if value > 0 else "-∞"


XLSX = Format(
    name="xlsx",
    suffixes=(".xlsx",),
    media_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    write=to_xlsx,
    is_spoken=True,
)
