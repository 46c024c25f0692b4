"""How far sums by cell move between neighbours when each row adds a bounded whole number to one cell, or to none."""

from dalenius.core.neighbours import Neighbours
from dalenius.core.sensitivity import Sensitivity


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
