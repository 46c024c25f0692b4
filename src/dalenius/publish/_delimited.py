"""One row per cell, with a sign between the fields: for every variable its code and its label, then numbers and status.

What the numbers are about stands once, in the description beside the file (`dalenius.publish.to_csvw`).
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dalenius.algebra.tabulation import cells_in_order, columns_of, number_columns, status, tidy_list
from dalenius.core.domain import Axis
from dalenius.core.law import FloatArray, IntArray
from dalenius.core.release import Release, Table
from dalenius.shown.answers import labelled_table
from dalenius.shown.speech import as_read, codes_of, titles

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of labels: its heads, and of which axis; with one for codes where the declaration has them."""

    axis: str
    head: str
    code_head: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class FileTables:
    """The tables of one file, in the words of readers, and the columns that they share."""

    tables: tuple[tuple[Release, Table, str], ...]
    table_head: str
    columns: tuple[Column, ...]
    numbers: tuple[str, ...]

    @property
    def heads(self) -> list[str]:
        labels = [name for column in self.columns for name in (column.code_head, column.head) if name]
        return [*([self.table_head] if self.table_head else []), *labels, *self.numbers]


def sheet_of(release: Release, table: Table | None) -> FileTables:
    """All tables of a release, or the one given; several are told apart by their titles in the first column."""
    stored, release = release, as_read(release)
    every = [(part, each) for part in release.parts for each in part.tables]
    chosen = None if table is None else labelled_table(stored, release, table)
    named = zip(every, titles(release), strict=True)
    # Tables of a batch also bear the titles that they were given.
    own = ((part, each, part.about.title if release.members else "", title) for (part, each), title in named)
    tables = tuple(
        (part, each, f"{above}: {title}" if above else title)
        for part, each, above, title in own
        if chosen is None or each is chosen
    )
    if not tables and chosen is not None:
        tables = ((release.owner(chosen), chosen, ""),)
    numbers = columns_of([each for _, each, _ in tables])
    taken, columns = list(numbers), []
    has_several = len(tables) > 1
    asked = [(part, each.space.axes[place]) for part, each, _ in tables for place in part.asked_order(each)]
    table_head = _apart("table", [*taken, *(axis.name for _, axis in asked)], "_of_release") if has_several else ""
    taken += [table_head] if has_several else []
    first: dict[str, tuple[Release, Axis]] = {}
    for part, axis in asked:
        first.setdefault(axis.name, (part, axis))
    for part, axis in first.values():
        head = _apart(axis.name, taken, "_category")
        taken.append(head)
        code = _apart(f"{head}_code", taken, "_code") if codes_of(part.about, axis) else ""
        taken += [code] if code else []
        columns.append(Column(axis.name, head, code))
    return FileTables(tables, table_head, tuple(columns), numbers)


def _apart(name: str, taken: Sequence[str], suffix: str) -> str:
    while name in taken:
        name += suffix
    return name


def delimited(release: Release, table: Table | None, confidence: float, delimiter: str) -> str:
    """All tables as text, or the one given.

    Several tables stand below each other under the column `table`; a variable that a table does not have is empty
    there. A label that a spreadsheet would read as a formula is quoted with an apostrophe; numbers never are. Labels
    are escaped once for each axis, so that a table of a million cells is written in a second or two.
    """
    sheet = sheet_of(release, table)
    lines = [delimiter.join(_field(name, delimiter) for name in sheet.heads)]
    for part, each, title in sheet.tables:
        start = _label(title, delimiter) + delimiter if sheet.table_head else ""
        lines += [start + row for row in _rows(part, each, sheet, confidence, delimiter)]
    return "\n".join(lines) + "\n"


def _rows(release: Release, table: Table, sheet: FileTables, confidence: float, delimiter: str) -> list[str]:
    """The lines of one table, its axes under the columns of the sheet."""
    numbers = number_columns(release, table, confidence, has_sampling=len(sheet.numbers) > len(columns_of([])))
    own, order = [axis.name for axis in table.space.axes], release.asked_order(table)
    labels = {axis.name: _written(release, axis, sheet, delimiter) for axis in table.space.axes}
    empty = {column.axis: delimiter * (2 if column.code_head else 1) for column in sheet.columns}
    stubs = _stubs(labels, own, empty)
    lines = [stub + end for stub, end in zip(stubs, _ends(table, numbers, delimiter), strict=True)]
    if list(order) == list(range(len(own))):
        return lines
    return [lines[cell] for cell in cells_in_order(table.space, order).tolist()]


def _written(release: Release, axis: Axis, sheet: FileTables, delimiter: str) -> list[str]:
    """Code and label of each category, ended by the delimiter."""
    labels = [_label(label, delimiter) + delimiter for label in axis.labels]
    if not any(column.code_head for column in sheet.columns if column.axis == axis.name):
        return labels
    codes: Mapping[str, str] = codes_of(release.about, axis)
    return [
        _label(codes.get(label, ""), delimiter) + delimiter + text
        for label, text in zip(axis.labels, labels, strict=True)
    ]


def _stubs(labels: Mapping[str, list[str]], own: Sequence[str], empty: Mapping[str, str]) -> Sequence[str]:
    """The labels of each cell under the columns of the file; nothing in those of other tables."""
    columns = list(empty)
    if [name for name in columns if name in own] != list(own):
        cells = (dict(zip(own, cell, strict=True)) for cell in product(*(labels[name] for name in own)))
        return ["".join(cell.get(name, empty[name]) for name in columns) for cell in cells]
    stubs = [""]
    for name in columns:
        stubs = [stub + label for stub in stubs for label in labels.get(name, [empty[name]])]
    return stubs


def _ends(table: Table, columns: Sequence[FloatArray], delimiter: str) -> list[str]:
    """Value, errors, ends and status of each cell; cells that agree in all of them are written once."""
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
        lines.append(delimiter.join((*numbers, said)))
    written: list[str] = np.array([*lines, ""], dtype=object)[where].tolist()
    return written


def _members(where: IntArray) -> IntArray:
    """One cell of each combination."""
    some = np.zeros(int(where.max(initial=-1)) + 1, dtype=np.int64)
    some[where] = np.arange(len(where))
    return some


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
