"""table.csv: one row per cell; one column per variable, then value, std_error, lower, upper, status."""

import csv
import io

from dalenius.core.release import Release, Table
from dalenius.core.tabulation import header, rows

__all__ = ["to_csv"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(release: Release, table: Table | None = None, confidence: float = 0.95) -> str:
    """The first table (or the one given) as CSV text.

    A label that a spreadsheet would read as a formula is quoted with an apostrophe; numbers never are.
    """
    shown = table or release.table
    width = len(shown.space.axes)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header(shown.space))
    for row in rows(release, shown, confidence):
        labels = (f"'{c}" if str(c).startswith(_FORMULA) else c for c in row[:width])
        writer.writerow((*labels, *("" if c is None else _number(c) for c in row[width:])))
    return out.getvalue()


def _number(value: object) -> object:
    return f"{value:.10g}" if isinstance(value, float) else value
