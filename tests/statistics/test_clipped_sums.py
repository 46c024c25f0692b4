"""Sums between chosen bounds: multiplied so that no row moves them further than those between the widest."""

from itertools import product

import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.errors import ParameterError
from dalenius.statistics.clipped_sums import ClippedSums, Kind


@pytest.mark.parametrize("kind", ["totals", "total", "squares", "clipped"])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 3])
def test_narrower_bounds_never_move_further_and_nearly_as_far(kind: Kind, relation: Relation, rows: int) -> None:
    neighbours = Neighbours(relation=relation, max_rows=rows, unit="person")
    widest = ClippedSums(
        query=TableQuery(space=CellSpace(()), value="x"),
        low=-7,
        high=13,
        floor=-9,
        ceiling=40,
        kind=kind,
        factor=64 if kind != "clipped" else 1,
    )
    most = widest.sensitivity(neighbours)
    for low, high in product(range(-7, 13), range(-6, 14)):
        if low < high:
            moved = widest.cut_to(low, high).sensitivity(neighbours)
            assert moved.l1 <= most.l1 and moved.l2_squared <= most.l2_squared and moved.linf <= most.linf
            if most.patterns is not None and moved.patterns is not None:
                assert all(any(_dominates(wide, own) for wide in most.patterns) for own in moved.patterns)
            if kind in ("totals", "total"):
                assert moved.l1 >= most.l1 * 63 / 64


def _dominates(wide: tuple[int, ...], own: tuple[int, ...]) -> bool:
    return len(own) <= len(wide) and all(a <= b for a, b in zip(own, wide, strict=False))


@pytest.mark.parametrize(("low", "high"), [(3, 3), (4, 3), (-1, 2), (0, 9)])
def test_bounds_that_do_not_rise_inside_the_declared_ones_are_refused(low: int, high: int) -> None:
    with pytest.raises(ParameterError):
        ClippedSums(
            query=TableQuery(space=CellSpace(()), value="x"), low=low, high=high, floor=0, ceiling=8, kind="total"
        )
