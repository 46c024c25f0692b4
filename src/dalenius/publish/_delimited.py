"""One row per cell, with a sign between the fields: one column per variable, then value, std_error, lower, upper, status.

After them stands what the numbers are about: measure, unit and filter, on every row, so that a file keeps its subject when it
is filtered or joined with others.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import product

from dalenius.core.release import Release, Table
from dalenius.linear.answers import labelled_table
from dalenius.linear.tabulation import COLUMNS, columns_of, header, number_columns, status, tidy_list
from dalenius.spec.answer import as_read
from dalenius.spec.speech import conditions, heading, shown_measure, unit_of

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
SUBJECT = ("measure", "unit", "filter")


def delimited(release: Release, table: Table | None, confidence: float, delimiter: str) -> str:
    """All tables as text, or the one given.

    Several tables stand below each other under the column `table`; a variable that a table does not have is empty there.
    A label that a spreadsheet would read as a formula is quoted with an apostrophe; numbers never are. Labels are
    escaped once for each axis, so that a table of a million cells is written in a second or two.
    """
    stored, release = release, as_read(release)
    table = None if table is None else labelled_table(stored, release, table)
    if table is not None or len(release.tables) == 1:
        one = table or release.table
        head = header(one.space, columns_of([one]))
        names = [*head, *_subject_names(head)]
        lines = [_joined(names, delimiter), *_rows(release, one, confidence, delimiter)]
        return "\n".join(lines) + "\n"
    axes = list(dict.fromkeys(axis.name for t in release.tables for axis in t.space.axes))
    first = "table" if "table" not in axes else "table_of_release"
    shown = columns_of(release.tables)
    columns = [f"{name}_category" if name in shown else name for name in axes]
    lines = [_joined([first, *columns, *shown, *_subject_names([first, *columns])], delimiter)]
    has_sampling = len(shown) > len(COLUMNS)
    for each in release.tables:
        start = _label(heading(release, each), delimiter) + delimiter
        lines += [
            start + row
            for row in _rows(release, each, confidence, delimiter, axes, has_sampling=has_sampling)
        ]
    return "\n".join(lines) + "\n"


def _subject_names(taken: Sequence[str]) -> list[str]:
    """Names of the last columns; a variable of such a name keeps it."""
    return [f"{name}_of_table" if name in taken else name for name in SUBJECT]


def _rows(
    release: Release,
    table: Table,
    confidence: float,
    delimiter: str,
    columns: Sequence[str] = (),
    *,
    has_sampling: bool | None = None,
) -> Iterator[str]:
    """The lines of one table, its axes under the given columns."""
    errors = tidy_list(table.std_error)
    structural = set(table.space.structural_indices)
    arrays = number_columns(release, table, confidence, has_sampling=has_sampling)
    numbers = zip(*([_number(v) for v in tidy_list(array)] for array in arrays), strict=True)
    own = [axis.name for axis in table.space.axes]
    places = [own.index(name) if name in own else -1 for name in columns or own]
    labels = product(*([_label(label, delimiter) for label in axis.labels] for axis in table.space.axes))
    subject = release.about
    filters = [*conditions(subject), *([subject.universe] if subject.universe else [])]
    words = (shown_measure(release, table), unit_of(release, table), "; ".join(filters))
    about = delimiter.join(_label(text, delimiter) for text in words)
    for i, (cell, row) in enumerate(zip(labels, numbers, strict=True)):
        stub = (cell[place] if place >= 0 else "" for place in places)
        yield delimiter.join((*stub, *row, status(table, i in structural, errors[i]), about))


def _joined(names: Sequence[str], delimiter: str) -> str:
    return delimiter.join(_field(name, delimiter) for name in names)


def _label(text: str, delimiter: str) -> str:
    return _field(f"'{text}" if text.startswith(_FORMULA) else text, delimiter)


def _field(text: str, delimiter: str) -> str:
    """One escaped field."""
    if not text:
        return ""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="").writerow([text])
    return out.getvalue()


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
