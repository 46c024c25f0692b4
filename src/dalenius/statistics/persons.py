"""Number of different persons who have a row in each cell of a declared table."""

from dataclasses import dataclass

from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Aggregate, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics._example import Example, of_cells

_MOST_CELLS_FOR_PATTERNS = 24


@dataclass(frozen=True, slots=True)
class Persons:
    """A table of persons: whoever has several rows in a cell counts once in it.

    Guarantee: a person with at most c rows is in at most c cells and moves each by one when added or removed; replaced,
    in at most 2c cells, each by one at most. So the Euclidean change is the root of c, where a count of rows has c. A
    group of g persons moves a cell by at most g. Requires: the engine keeps at most c rows of a person. Evidence:
    exhaustive neighbours in tests/statistics/test_persons.py.
    """

    query: TableQuery

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        moved = (2 if neighbours.is_replace else 1) * neighbours.max_rows
        touched = min(moved, self.query.space.possible)
        together = neighbours.persons
        if together == 1 and touched <= _MOST_CELLS_FOR_PATTERNS:
            return Sensitivity.of_patterns(((1,) * touched,) if touched else ())
        most = min(moved, together * touched)
        return Sensitivity.norms(l0=touched, l1=most, l2_squared=together * most, linf=together)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return of_cells(lambda space: cls(TableQuery(space=space, aggregate=Aggregate.PERSONS)))
