"""One row per cell, with a sign between the fields: one column per variable, then value, std_error, lower, upper, status."""

import csv
import io
from itertools import product

from dalenius.core.release import Release, Table
from dalenius.linear.tabulation import bounds, header, status, tidy_list

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def delimited(release: Release, table: Table | None, confidence: float, delimiter: str) -> str:
    """The first table (or the one given) as text.

    A label that a spreadsheet would read as a formula is quoted with an apostrophe; numbers never are. Labels are
    escaped once for each axis, so that a table of a million cells is written in a second or two.
    """
    shown = table or release.table
    errors = tidy_list(shown.std_error)
    structural = set(shown.space.structural_indices)
    columns = [
        [_number(v) for v in tidy_list(c)] for c in (shown.values, *bounds(release, shown, confidence))
    ]
    labels = product(*([_label(label, delimiter) for label in axis.labels] for axis in shown.space.axes))
    numbers = zip(columns[0], map(_number, errors), columns[1], columns[2], strict=True)
    lines = [delimiter.join(_field(name, delimiter) for name in header(shown.space))]
    for i, (cell, row) in enumerate(zip(labels, numbers, strict=True)):
        lines.append(delimiter.join((*cell, *row, status(i in structural, errors[i]))))
    return "\n".join(lines) + "\n"


def _label(text: str, delimiter: str) -> str:
    return _field(f"'{text}" if text.startswith(_FORMULA) else text, delimiter)


def _field(text: str, delimiter: str) -> str:
    """One escaped field."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="").writerow([text])
    return out.getvalue()


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
