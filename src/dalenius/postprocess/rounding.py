"""Whole numbers whose margins add up: controlled rounding.

Every cell of the finest shown table goes to one of its two neighbouring integers, and the total to the nearest. In a
two-way table every row and column total goes to a neighbouring integer as well (a transportation problem, whose vertices are
integers). Margins are sums of the rounded cells. Intervals stay valid because they are computed from the measured blocks; a
cell moves by less than one.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dalenius.core.law import FloatArray
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.linear.adjusting import finest, from_finest, has_levels

__all__ = ["Rounding"]

_MOST_CONTROLLED = 40_000


@dataclass(frozen=True)
class Rounding:
    """Replace shown tables by consistent whole numbers."""

    name: ClassVar[str] = "rounding"

    @classmethod
    def examples(cls, release: Release) -> "tuple[Rounding, ...]":
        """Whole numbers."""
        return (cls(),)

    def __call__(self, release: Release) -> Release:
        """A new release; measured blocks stay."""
        if has_levels(release):
            raise Unsupported("Several levels of one variable are shown; round a release of one level.")
        table = finest(release)
        cells = table.values.reshape(table.shape)
        if cells.ndim == 2 and cells.size <= _MOST_CONTROLLED:
            whole, method = controlled(cells), "controlled rounding of cells, rows, columns and total"
        else:
            whole = largest_remainder(cells.ravel()).reshape(table.shape)
            method = "largest remainder of cells and total"
        values = from_finest(release, table, whole)
        tables = tuple(
            replace(t, values=v, is_unbiased=False) for t, v in zip(release.tables, values, strict=True)
        )
        note = {"name": self.name, "method": method, "intervals": "from the measured blocks"}
        return release.with_(tables=tables, adjustments=(*release.adjustments, note))


def largest_remainder(values: FloatArray) -> FloatArray:
    """Each value to its floor or ceiling, so that the sum is the rounded sum.

    >>> largest_remainder(np.array([0.4, 0.4, 0.4, 1.0]))
    array([1., 0., 0., 1.])
    """
    low = np.floor(values + 1e-9)
    missing = round(float(np.rint(values.sum()) - low.sum()))
    out = low.copy()
    if missing > 0:
        fraction = values - low
        out[np.argsort(-fraction, kind="stable")[:missing]] += 1
    return out


def controlled(values: FloatArray) -> FloatArray:
    """Cells, row totals, column totals and the grand total each go to a neighbouring integer.

    The fractions are the flow of a network (row to column), whose integral solutions are exactly such roundings; the one
    with the least squared change is found by linear programming.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, kron, vstack

    rows, columns = values.shape
    low = np.floor(values + 1e-9)
    fraction = np.clip(values - low, 0.0, 1.0)
    by_row = kron(csr_array(np.eye(rows)), csr_array(np.ones((1, columns))))
    by_column = kron(csr_array(np.ones((1, rows))), csr_array(np.eye(columns)))
    whole = csr_array(np.ones((1, rows * columns)))
    constraints = vstack([by_row, by_column, whole])
    totals = np.concatenate([fraction.sum(axis=1), fraction.sum(axis=0), [fraction.sum()]])
    nearest = float(np.rint(totals[-1]))
    lower = np.append(np.floor(totals[:-1] + 1e-9), nearest)
    upper = np.append(np.ceil(totals[:-1] - 1e-9), nearest)
    # Squared change of rounding x to 0 or 1 is linear in the choice: x^2 + z (1 - 2x).
    change = (1 - 2 * fraction).ravel()
    fixed = (fraction.ravel() < 1e-9) | (fraction.ravel() > 1 - 1e-9)
    bounds = [(round(f), round(f)) if k else (0, 1) for f, k in zip(fraction.ravel(), fixed, strict=True)]
    solve: Any = linprog
    solved = solve(
        change,
        A_ub=vstack([constraints, -constraints]),
        b_ub=np.concatenate([upper, -lower]) + 1e-7,
        bounds=bounds,
        method="highs-ds",
    )
    if not solved.success:
        return largest_remainder(values.ravel()).reshape(values.shape)
    return np.asarray(low + np.rint(solved.x).reshape(values.shape))
