"""How many digits a table shows: counts as whole numbers that add up, other tables with one precision for all cells.

For readers only. The release keeps its exact values; a shown number that was moved carries the move in its margin of
error.
"""

from dataclasses import dataclass
from math import floor, log10
from statistics import NormalDist

import numpy as np

from dalenius.algebra.whole import whole_values
from dalenius.core.law import FloatArray
from dalenius.core.release import ADDITIVE, Release, Table

_MOST_DIGITS = 6
WHOLE, INEXACT = "whole", "inexact"


@dataclass(frozen=True, eq=False, kw_only=True)
class Display:
    """One table as readers see it: shown values, decimals of all of them, and what was done to them."""

    table: Table
    values: FloatArray
    digits: int
    rounding: str = ""


def displayed(release: Release) -> tuple[Display, ...]:
    """Every table of a release: counts rounded together, so that shared margins stay equal."""
    counts = [t for t in release.tables if t.measure == "count" and np.isfinite(t.values).all()]
    whole = [np.array_equal(t.values, np.rint(t.values)) for t in counts]
    moved = whole_values(counts) if counts and not all(whole) else None
    by_table = dict(zip(map(id, counts), moved, strict=True)) if moved else {}
    return tuple(_display(table, by_table.get(id(table))) for table in release.tables)


def _display(table: Table, whole: FloatArray | None) -> Display:
    if whole is not None:
        return Display(table=table, values=whole, digits=0, rounding=WHOLE)
    digits = precision(table)
    is_cut = bool(np.any(np.abs(table.values - np.round(table.values, digits)) > 1e-9))
    is_sum = table.measure in ADDITIVE
    return Display(table=table, values=table.values, digits=digits, rounding=INEXACT if is_cut and is_sum else "")


def precision(table: Table) -> int:
    """Decimals of every cell: two digits of the smallest margin of error, or as many as the values need without one.

    >>> from dalenius.core.domain import Axis, CellSpace
    >>> space = CellSpace((Axis(variable="v", labels=("a", "b")),))
    >>> means = Table(name="v", space=space, values=np.array([28.5231, 30.1]), variance=np.array([1e-4, 1e-2]))
    >>> precision(means)
    3
    """
    values = table.values[np.isfinite(table.values)]
    if np.array_equal(values, np.rint(values)):
        return 0
    errors = table.std_error[np.isfinite(table.std_error) & (table.std_error > 0)]
    if len(errors):
        half = NormalDist().inv_cdf(0.975) * float(errors.min())
        return min(max(1 - floor(log10(half)), 0), _MOST_DIGITS)
    needed = (d for d in range(1, _MOST_DIGITS) if np.allclose(values, np.round(values, d), rtol=0, atol=1e-9))
    return next(needed, 2)
