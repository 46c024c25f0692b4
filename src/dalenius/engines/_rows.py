"""Several numeric variables of the same rows, read by the scan that every source has."""

import numpy as np

from dalenius.core.contracts import Source
from dalenius.core.law import IntArray
from dalenius.core.query import RowsQuery
from dalenius.core.sealed import Sealed
from dalenius.engines._tally import passes
from dalenius.spec.coding import DROPPED_NUMBER


def rows_of(source: Source, query: RowsQuery) -> Sealed[IntArray]:
    """One line for each row that has all the variables; sorted, so that the order of a file tells nothing."""
    domain = source.domain
    for name in query.variables:
        _ = domain.variable(name).bounds
    names = tuple(dict.fromkeys([*query.variables, *(f.variable for f in query.where)]))
    parts = [np.empty((0, len(query.variables)), dtype=np.int64)]
    for batch in source.scan(names):
        columns = [np.asarray(batch[name]) for name in query.variables]
        mask = np.logical_and.reduce([column != DROPPED_NUMBER for column in columns])
        for condition in query.where:
            mask &= passes(condition, domain.variable(condition.variable), batch[condition.variable])
        parts.append(np.column_stack([column[mask] for column in columns]).astype(np.int64))
    rows = np.concatenate(parts)
    return Sealed(rows[np.lexsort(rows.T[::-1])])
