"""Number of rows in each cell of a declared table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported
from dalenius.statistics._example import Example, Rows, of_cells
from dalenius.statistics._moves import counted, reachable


@dataclass(frozen=True, slots=True)
class Count:
    """A frequency table.

    Guarantee: a unit with at most c rows moves the table by at most c in the l1 norm when it is added or removed, and
    by at most 2c when it is replaced (c if the table has a single cell). No total is taken as public: a filter, a
    dropped value or a structural zero can take a row out of the table. A row that keeps its publicly known attributes
    moves among the cells of the other ones: by 2, by 1 where they are one cell, and not at all where everything that is
    asked of it is public. Requires: the engine keeps at most c rows of a unit; at and within the data, one row to a
    unit. Evidence: exhaustive neighbours in tests/statistics/test_count.py. O'Keefe & Charest (2018) print 1 under
    replace: a replaced row leaves one cell and enters another, so Laplace noise of scale 1/epsilon spends 2 epsilon.
    """

    query: TableQuery

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        return counted(neighbours.max_rows, reachable(self.query, neighbours), is_replace=neighbours.is_replace)

    def value(self, cells: Sequence[int] | IntArray) -> tuple[int, ...]:
        counts = [0] * self.query.space.size
        for cell in cells:
            if cell >= 0:
                counts[cell] += 1
        return tuple(counts)

    def local(self, cells: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        """Largest l1 change that one record can make to this table, exactly; a row may be outside of it."""
        if neighbours.max_rows > 1:
            raise Unsupported("Local sensitivities are for one row to a unit.")
        possible = self.query.space.possible
        if not neighbours.is_replace:
            return min(possible, 1)
        is_inside = any(int(cell) >= 0 for cell in cells)
        return 2 if is_inside and possible > 1 else min(len(cells), possible, 1)

    def smooth(self, cells: Sequence[int] | IntArray, neighbours: Neighbours) -> Fraction:
        """The global value: data at distance one can already have it, and it is constant."""
        return Fraction(max(1, int(self.sensitivity(neighbours).l1)))

    def bootstrap(self, cells: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        """Largest l1 change between neighbours made of these rows only, exactly."""
        owners = {int(cell) for cell in cells}
        occupied = owners - {-1}
        if neighbours.is_replace and len(occupied) > 1:
            return 2
        return 1 if occupied and (not neighbours.is_replace or -1 in owners) else 0

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        def places(labels: str) -> Callable[[Rows], tuple[list[int]]]:
            return lambda rows: ([labels.find(label or "-") for (label,) in rows],)

        return of_cells(lambda space: cls(TableQuery(space=space)), places)
