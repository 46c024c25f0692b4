"""Counts between released cuts by hand: every neighbour of tiny data, cuts anywhere, and a norm that is too small."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.statistics.point_counts import PointCounts

CELLS = CellSpace((Axis(variable="g", labels=("a", "b", "c"), codes=(0, 1, 2)),), frozenset({(1,)}))
LISTS = (ValuesQuery(value="x"),) * 3
CUTS = ((1, 2), (0, 0), (0, 3))


def counted(cuts: tuple[tuple[int, ...], ...] = CUTS) -> PointCounts:
    return PointCounts(queries=LISTS, cells=CELLS, cuts=cuts)


def test_every_record_is_in_one_part_and_impossible_cells_are_empty() -> None:
    lists = [np.array(values, dtype=np.int64) for values in ([0, 1, 1, 5], [1, 1], [2, 3])]
    assert counted().combine(lists).reshape(3, 3).tolist() == [[1, 2, 1], [0, 0, 0], [0, 1, 1]]
    assert counted(((4, 4), (0, 0), (0, 9))).combine(lists).reshape(3, 3).tolist()[0] == [3, 0, 1]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("cuts", [CUTS, ((1, 1), (0, 0), (2, 3))])
def test_declared_is_measured_over_all_neighbours(
    relation: Relation, rows: int, cuts: tuple[tuple[int, ...], ...]
) -> None:
    """A unit has up to so many rows, each in a cell with a value, or left out."""
    places = [(None, 0), *product((0, 2), range(4))]

    def answer(unit: tuple[tuple[int | None, int], ...]) -> np.ndarray:
        lists = [np.array([x for g, x in unit if g == cell], dtype=np.int64) for cell in range(3)]
        return counted(cuts).combine(lists)

    units = [answer(unit) for unit in combinations_with_replacement(places, rows)]
    others = units if relation is Relation.REPLACE else [answer(())]
    moves = np.abs([a - b for a, b in product(units, others)])
    declared = counted(cuts).sensitivity(
        Neighbours(relation=relation, unit="row" if rows == 1 else "person", max_rows=rows)
    )
    assert (declared.l1, declared.linf) == (moves.sum(axis=1).max(), moves.max())
    assert declared.l2_squared == (moves**2).sum(axis=1).max()


def test_the_price_does_not_depend_on_the_cuts() -> None:
    neighbours = Neighbours(relation=Relation.REPLACE)
    assert counted().sensitivity(neighbours) == counted(((7, 7), (7, 7), (7, 7))).sensitivity(neighbours)
