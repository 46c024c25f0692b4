"""How many rows have each point of a declared grid, from which all that is asked of one numeric variable follows.

Sums, extremes and sorted lists of a variable do not depend on the order of its rows. Where its grid has few points, by
its declaration, the rows are counted by point in one pass, and the points are then tallied with their counts. Integers
only; the counts are those of the rows, whatever these hold.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from dalenius.core.domain import Domain, Variable
from dalenius.core.law import IntArray
from dalenius.core.query import Aggregate, TableQuery, ValuesQuery
from dalenius.engines._tally import Tally, is_listed
from dalenius.spec.coding import DROPPED_NUMBER

# Their counts fill eight megabytes.
MOST_POINTS = 1 << 20
_STRETCH = 1 << 20


def counted_variable(query: TableQuery | ValuesQuery, domain: Domain) -> str | None:
    """The one numeric variable that a query reads, if its declared grid has few points and rows are units."""
    if isinstance(query, TableQuery):
        names: Sequence[str] = query.variables
        if query.clip is not None or query.aggregate is Aggregate.PERSONS:
            return None
    else:
        names = tuple(dict.fromkeys((query.value, *(f.variable for f in query.where))))
    if len(names) != 1 or domain.unit_id is not None:
        return None
    variable = domain.variable(names[0])
    has_few_points = variable.is_numeric and variable.bounds.high - variable.bounds.low < MOST_POINTS
    return names[0] if has_few_points else None


class GridCounts:
    """Rows of one variable by grid point, and after all points those that are dropped."""

    def __init__(self, variable: Variable, columns: Iterable[IntArray]) -> None:
        self._name, bounds = variable.name, variable.bounds
        self._codes = np.append(np.arange(bounds.low, bounds.high + 1), DROPPED_NUMBER)
        self._counts = np.zeros(len(self._codes), dtype=np.int64)
        for column in columns:
            # A stretch at a time, which stays in the cache.
            for start in range(0, len(column), _STRETCH):
                codes = column[start : start + _STRETCH]
                places = np.where(codes == DROPPED_NUMBER, bounds.high + 1, codes) - bounds.low
                self._counts += np.bincount(places, minlength=len(self._counts))

    def add_to(self, tally: Tally) -> None:
        places = np.flatnonzero(self._counts)
        tally.add({self._name: self._codes[places]}, self._counts[places])

    def listed(self, query: ValuesQuery, domain: Domain) -> IntArray:
        mask = is_listed(query, domain, {self._name: self._codes})
        return np.repeat(self._codes[mask], self._counts[mask])
