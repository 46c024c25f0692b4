"""How far numbers of rows in disjoint cells move when one unit's rows leave them or enter them."""

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
