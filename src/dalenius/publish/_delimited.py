"""One row per cell, with a sign between the fields: one column per variable, then numbers and status.

After them stands what the numbers are about on every row, so that a file keeps its subject when it is filtered or
joined with others; and where numbers have an error with sampling, the condition under which it holds.
"""

import csv
import io
from collections.abc import Sequence
from itertools import product

import numpy as np

from dalenius.algebra.tabulation import COLUMNS, cells_in_order, columns_of, header, number_columns, status, tidy_list
from dalenius.core.domain import CellSpace
from dalenius.core.law import FloatArray, IntArray
from dalenius.core.release import Release, Table
from dalenius.shown.answers import labelled_table
from dalenius.shown.speech import as_read, conditions, heading, sampling_condition, shown_measure, unit_of

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
SUBJECT = ("measure", "unit", "filter")
CONDITION = "sampling"


def delimited(release: Release, table: Table | None, confidence: float, delimiter: str) -> str:
    """All tables as text, or the one given.

    Several tables stand below each other under the column `table`; a variable that a table does not have is empty
    there. A label that a spreadsheet would read as a formula is quoted with an apostrophe; numbers never are. Labels
    are escaped once for each axis, so that a table of a million cells is written in a second or two.
    """
    stored, release = release, as_read(release)
    table = None if table is None else labelled_table(stored, release, table)
    if table is not None or len(release.tables) == 1:
        one = table or release.table
        release = release.owner(one)
        head = header(CellSpace(tuple(one.space.axes[axis] for axis in release.asked_order(one))), columns_of([one]))
        has_sampling = one.sampled is not None
        names = [*head, *_subject_names(head, has_sampling=has_sampling)]
        lines = [_joined(names, delimiter), *_rows(release, one, confidence, delimiter, has_sampling=has_sampling)]
        return "\n".join(lines) + "\n"
    axes = list(dict.fromkeys(t.space.axes[axis].name for t in release.tables for axis in release.asked_order(t)))
    first = "table" if "table" not in axes else "table_of_release"
    shown = columns_of(release.tables)
    columns = [f"{name}_category" if name in shown else name for name in axes]
    has_sampling = len(shown) > len(COLUMNS)
    about = _subject_names([first, *columns], has_sampling=has_sampling)
    lines = [_joined([first, *columns, *shown, *about], delimiter)]
    for part, each in [(own, table) for own in release.parts for table in own.tables]:
        # Two tables of a batch may differ in their conditions alone; their titles tell them apart.
        name = part.about.title if release.members else ""
        start = _label(name or heading(part, each), delimiter) + delimiter
        lines += [start + row for row in _rows(part, each, confidence, delimiter, axes, has_sampling=has_sampling)]
    return "\n".join(lines) + "\n"


def _subject_names(taken: Sequence[str], *, has_sampling: bool) -> list[str]:
    """Names of the last columns; a variable of such a name keeps it."""
    names = (*SUBJECT, CONDITION) if has_sampling else SUBJECT
    return [f"{name}_of_table" if name in taken else name for name in names]


def _rows(
    release: Release,
    table: Table,
    confidence: float,
    delimiter: str,
    columns: Sequence[str] = (),
    *,
    has_sampling: bool,
) -> list[str]:
    """The lines of one table, its axes under the given columns."""
    numbers = number_columns(release, table, confidence, has_sampling=has_sampling)
    subject = release.about
    filters = [*conditions(subject), *([subject.universe] if subject.universe else [])]
    words = [shown_measure(release, table), unit_of(release, table), "; ".join(filters)]
    if has_sampling:
        words.append("" if table.sampled is None else sampling_condition(release))
    about = delimiter.join(_label(text, delimiter) for text in words)
    own, order = [axis.name for axis in table.space.axes], release.asked_order(table)
    names = columns or [own[axis] for axis in order]
    stubs = _stubs(table, [own.index(name) if name in own else -1 for name in names], delimiter)
    ends = _ends(table, numbers, delimiter, about)
    lines = [stub + end for stub, end in zip(stubs, ends, strict=True)]
    if list(order) == list(range(len(own))):
        return lines
    return [lines[cell] for cell in cells_in_order(table.space, order).tolist()]


def _stubs(table: Table, places: Sequence[int], delimiter: str) -> Sequence[str]:
    """The labels of each cell, those of an axis under each given place and nothing under -1, ended by the delimiter."""
    labels = [[_label(label, delimiter) + delimiter for label in axis.labels] for axis in table.space.axes]
    if [place for place in places if place >= 0] != list(range(len(labels))):
        cells = product(*labels)
        return ["".join(cell[place] if place >= 0 else delimiter for place in places) for cell in cells]
    stubs = [""]
    for place in places:
        further = labels[place] if place >= 0 else [delimiter]
        stubs = [stub + label for stub in stubs for label in further]
    return stubs


def _ends(table: Table, columns: Sequence[FloatArray], delimiter: str, about: str) -> list[str]:
    """Value, error, ends, status and subject of each cell; cells that agree in all of them are written once."""
    is_structural = np.zeros(len(table.values), dtype=np.int64)
    is_structural[list(table.space.structural_indices)] = 1
    where: IntArray = is_structural if 0 < is_structural.sum() < len(is_structural) else 0 * is_structural
    some = _members(where)
    for column in columns:
        if np.array_equal(column[some][where], column, equal_nan=True):
            # The ends of an interval follow from value and error nearly always.
            continue
        distinct, places = np.unique(column, return_inverse=True)
        # Numbers of combinations stay below the square of the number of cells, and are made dense again each time.
        _, where = np.unique(where * len(distinct) + places, return_inverse=True)
        some = _members(where)
    texts = [[_number(value) for value in tidy_list(column[some])] for column in columns]
    lines = []
    for is_zero, *numbers in zip(is_structural[some].tolist(), *texts, strict=True):
        said = status(table, bool(is_zero), numbers[1] or None)
        lines.append(delimiter.join((*numbers, said, about)))
    written: list[str] = np.array([*lines, ""], dtype=object)[where].tolist()
    return written


def _members(where: IntArray) -> IntArray:
    """One cell of each combination."""
    some = np.zeros(int(where.max(initial=-1)) + 1, dtype=np.int64)
    some[where] = np.arange(len(where))
    return some


def _joined(names: Sequence[str], delimiter: str) -> str:
    return delimiter.join(_field(name, delimiter) for name in names)


def _label(text: str, delimiter: str) -> str:
    return _field(f"'{text}" if text.startswith(_FORMULA) else text, delimiter)


def _field(text: str, delimiter: str) -> str:
    if not text:
        return ""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="").writerow([text])
    return out.getvalue()


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
