"""table.csv: one row per cell; one column per variable, then value, std_error, lower, upper, status."""

import csv
import io
from itertools import product

from dalenius.core.release import Release, Table
from dalenius.linear.tabulation import bounds, header, status, tidy_list

__all__ = ["to_csv"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(release: Release, table: Table | None = None, confidence: float = 0.95) -> str:
    """The first table (or the one given) as CSV text.

    A label that a spreadsheet would read as a formula is quoted with an apostrophe; numbers never are. Labels are
    escaped once for each axis, so that a table of a million cells is written in a second or two.
    """
    shown = table or release.table
    errors = tidy_list(shown.std_error)
    structural = set(shown.space.structural_indices)
    columns = [
        [_number(v) for v in tidy_list(c)] for c in (shown.values, *bounds(release, shown, confidence))
    ]
    labels = product(*([_text(label) for label in axis.labels] for axis in shown.space.axes))
    numbers = zip(columns[0], map(_number, errors), columns[1], columns[2], strict=True)
    lines = [",".join(_text(name, is_label=False) for name in header(shown.space))]
    for i, (cell, row) in enumerate(zip(labels, numbers, strict=True)):
        lines.append(",".join((*cell, *row, status(i in structural, errors[i]))))
    return "\n".join(lines) + "\n"


def _text(value: str, *, is_label: bool = True) -> str:
    """One escaped field."""
    safe = f"'{value}" if is_label and value.startswith(_FORMULA) else value
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([safe])
    return out.getvalue()


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
