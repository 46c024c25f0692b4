"""Sums of row functions over simulated records, which engines would take of a file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalenius.core.query import TableQuery


def sum_of(query: TableQuery, columns: Mapping[str, Any]) -> np.ndarray:
    """The sum over all records, in floating point, rounded and halved as a query of one cell asks."""
    (rows,) = {len(column) for column in columns.values()}
    added = np.full(rows, float(query.function.multiple))
    for power in query.function.powers:
        steps = columns[power.variable]
        inside = steps if power.cut is None else np.clip(steps, *power.cut)
        added *= (power.slope * inside + float(power.offset)) ** power.exponent
    return np.array([round((added - query.shift).sum() / 2**query.halvings)], dtype=np.int64)
