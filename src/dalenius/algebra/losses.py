"""Losses of a shown table against the exact one, and the association that is left in it.

Both tables are needed: this is for public and synthetic tables, and for the custodian's door, which wraps its result as
`Confidential`.
"""

from math import sqrt
from typing import Any

import numpy as np

from dalenius.core.law import FloatArray
from dalenius.errors import ParameterError


def compare(exact: Any, shown: Any) -> dict[str, float]:
    """Losses l1, l2, l3, Hellinger and mean absolute difference; association before and after of two-way tables."""
    a, b = np.asarray(exact, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    if a.shape != b.shape:
        raise ParameterError("The two tables must have the same shape.", exact=a.shape, shown=b.shape)
    positive = np.maximum(b, 0)
    roots = np.abs(np.sqrt(a) - np.sqrt(positive))
    losses = {
        "l1": float(np.abs(a - b).sum()),
        "l2": float(((a - b) ** 2).sum()),
        "l3": float(roots.sum()),
        "hellinger": float(sqrt((roots**2).sum())),
        "mean_absolute_difference": float(np.abs(a - b).mean()),
    }
    if a.ndim == 2 and min(a.shape) > 1:
        for name, table in (("before", a), ("after", positive)):
            losses[f"cramers_v_{name}"], losses[f"p_value_{name}"] = association(table)
    return losses


def association(table: FloatArray) -> tuple[float, float]:
    """Cramer's V and the p-value of Pearson's chi-square test, as if the table were exact; empty lines are dropped."""
    from scipy.stats import chi2_contingency

    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(kept.shape, default=0) < 2:
        return float("nan"), float("nan")
    pearson: Any = chi2_contingency(kept, correction=False)
    return sqrt(float(pearson.statistic) / (kept.sum() * (min(kept.shape) - 1))), float(pearson.pvalue)
