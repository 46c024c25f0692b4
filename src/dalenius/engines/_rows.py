"""Several numeric variables of the same rows, read by the scan that every source has."""

from math import prod

import numpy as np

from dalenius.core.contracts import Source
from dalenius.core.domain import CellSpace
from dalenius.core.law import IntArray
from dalenius.core.query import RowsQuery
from dalenius.core.sealed import Sealed
from dalenius.engines._tally import scanned_cells
from dalenius.spec.coding import DROPPED_NUMBER


def rows_of(source: Source, query: RowsQuery) -> Sealed[IntArray]:
    """One line for each row that has all the variables; sorted, so that the order of a file tells nothing."""
    domain, space = source.domain, query.space
    for name in query.variables:
        _ = domain.variable(name).bounds
    axes = () if space is None else space.axes
    used = [*query.variables, *(f.variable for f in query.where), *(axis.variable for axis in axes)]
    width = len(query.variables) + (space is not None)
    parts = [np.empty((0, width), dtype=np.int64)]
    for batch in source.scan(tuple(dict.fromkeys(used))):
        columns = [np.asarray(batch[name]) for name in query.variables]
        has_all = np.logical_and.reduce([column != DROPPED_NUMBER for column in columns])
        cells, mask = scanned_cells(space or CellSpace(()), query.where, domain, batch, len(has_all))
        mask &= has_all
        columns = columns if space is None else [cells, *columns]
        parts.append(np.column_stack([column[mask] for column in columns]).astype(np.int64))
    return Sealed(_sorted(np.concatenate(parts)))


def _sorted(rows: IntArray) -> IntArray:
    """Lines in order, as single numbers where all places of a line fit into one."""
    if not len(rows):
        return rows
    low, high = rows.min(axis=0), rows.max(axis=0)
    widths = [int(b) - int(a) + 1 for a, b in zip(low, high, strict=True)]
    if prod(widths) >= 2**62:
        return np.asarray(rows[np.lexsort(rows.T[::-1])])
    key = np.sort(np.ravel_multi_index(tuple((rows - low).T), tuple(widths)))
    return np.asarray(np.column_stack(np.unravel_index(key, tuple(widths))) + low)
