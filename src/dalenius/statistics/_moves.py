"""How far counts and sums by cell move between neighbours, and where a row can go that keeps what is public."""

from math import prod

from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity, partitions

MOST_ROWS_FOR_PATTERNS = 12


def counted(rows: int, cells: int, *, is_replace: bool) -> Sensitivity:
    """Norms for a unit with so many rows, and the extreme patterns while they are few."""
    if cells == 0:
        return Sensitivity.of_patterns(())
    if rows <= MOST_ROWS_FOR_PATTERNS:
        return Sensitivity.of_patterns(_patterns(rows, cells, is_replace=is_replace))
    sides = 2 if is_replace and cells > 1 else 1
    touched = min(sides * rows, cells)
    return Sensitivity.norms(l0=touched, l1=sides * rows, l2_squared=sides * rows * rows, linf=rows)


def _patterns(rows: int, cells: int, *, is_replace: bool) -> tuple[tuple[int, ...], ...]:
    """Ways in which one unit's rows can leave cells and, under replace, another's can enter others."""
    leaving = [p for p in partitions(rows) if len(p) <= cells]
    if not is_replace:
        return tuple(leaving)
    both = {tuple(sorted(p + q, reverse=True)) for p in leaving for q in leaving if len(p) + len(q) <= cells}
    return tuple(sorted(both | set(leaving)))


def bounded_sum(neighbours: Neighbours, *, cells: int, low: int, high: int, is_complete: bool = False) -> Sensitivity:
    """Each row adds a number in [low, high]; `is_complete`: no row can add nothing."""
    c, most = neighbours.max_rows, max(abs(low), abs(high))
    if cells == 0:
        return Sensitivity.of_patterns(())
    if not neighbours.is_replace:
        if c == 1:
            return Sensitivity.of_patterns(((most,),))
        return Sensitivity.norms(l0=min(c, cells), l1=c * most, l2_squared=(c * most) ** 2, linf=c * most)
    within = max(high, 0) - min(low, 0)
    if is_complete and c == 1 and cells == 1:
        within = high - low
    if c == 1:
        moves = ((within,), (most, most)) if cells > 1 else ((within,),)
        return Sensitivity.of_patterns(moves)
    if cells == 1:
        return Sensitivity.of_patterns(((c * within,),))
    return Sensitivity.norms(
        l0=min(2 * c, cells), l1=2 * c * most, l2_squared=c * c * max(2 * most * most, within * within), linf=c * within
    )


def is_fixed(query: TableQuery, neighbours: Neighbours) -> bool:
    """Whether nothing that decides the cell of a row can change, because all of it is public."""
    names = [axis.variable for axis in query.space.axes] + [condition.variable for condition in query.where]
    return bool(neighbours.public) and neighbours.unit == "row" and all(map(neighbours.keeps, names))


def reachable(query: TableQuery, neighbours: Neighbours) -> int:
    """Cells among which one row can move between neighbours who keep what is public.

    0: nothing that is asked of it can change. 1: it can come and go, and has one cell to come to; where its number may
    be missing, it always can. Attributes of which it is not proved that a unit keeps them count as free, so that the
    answer is never too small.
    """
    if is_fixed(query, neighbours):
        cells = 0 if all(map(neighbours.keeps, query.function.variables)) else 1
    elif neighbours.public and neighbours.unit == "row":
        cells = prod(len(axis) for axis in query.space.axes if not neighbours.keeps(axis.variable))
    else:
        cells = query.space.size
    return min(query.space.possible, cells)
