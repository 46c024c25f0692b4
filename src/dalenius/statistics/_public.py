"""Where a row can go when its publicly known attributes stay as they are."""

from math import prod

from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery


def reachable(query: TableQuery, neighbours: Neighbours) -> int:
    """Cells among which one row can move between neighbours who keep what is public.

    0: nothing that decides its cell can change. 1: it can come and go, and has one cell to come to. Attributes of which
    it is not proved that a unit keeps them count as free, so that the answer is never too small.
    """
    if not neighbours.public or neighbours.unit != "row":
        return query.space.size
    free = [axis for axis in query.space.axes if not neighbours.keeps(axis.variable)]
    is_fixed = not free and all(neighbours.keeps(condition.variable) for condition in query.where)
    return 0 if is_fixed else prod(len(axis) for axis in free)
