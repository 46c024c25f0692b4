"""Squared influences by hand: what a row adds lies between nothing and the grid, wherever the numbers of its cell come from."""

import numpy as np
import pytest

from dalenius.algebra.influence import GRID, Box
from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import RowsQuery
from dalenius.statistics.squared_influence import SquaredInfluence

BOX = Box(x=(0, 100), y=(0, 10))


def made(points: np.ndarray, grid: int = GRID) -> SquaredInfluence:
    listed = tuple(map(tuple, points.tolist()))
    return SquaredInfluence(query=RowsQuery(variables=("x", "y"), space=CellSpace(())), points=listed, grid=grid)


def lines(rows: np.ndarray) -> tuple[np.ndarray]:
    return (np.column_stack([np.zeros(len(rows), dtype=np.int64), rows]).astype(np.int64),)


def test_a_corner_adds_the_whole_grid_and_the_middle_nothing() -> None:
    statistic = made(np.array([BOX.start]))
    assert statistic.combine(lines(np.array([[0, 0], [100, 10]]))).tolist() == [2 * GRID]
    assert statistic.combine(lines(np.array([[50, 0], [0, 5]]))).tolist() == [0]


@pytest.mark.parametrize("is_correlation", [False, True])
def test_the_sum_is_the_textbooks_error_of_sampling(is_correlation: bool) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 101, 500)
    y = np.clip(x // 20 + rng.integers(0, 6, 500), 0, 10)
    u, v = x - x.mean(), y - y.mean()
    xx, yy, xy, one, none = u @ u / 500, v @ v / 500, u @ v / 500, np.ones(1), np.zeros(1)
    means = (np.full(1, x.mean()), np.full(1, y.mean()))
    if is_correlation:
        root = np.sqrt(xx * yy)
        r = xy / root
        points = BOX.points(means, one / root, (one * r / (2 * xx), one * r / (2 * yy)), none)
        textbook = (u * v / root - r / 2 * (u**2 / xx + v**2 / yy)) ** 2
    else:
        points = BOX.points(means, one, (none, none), one * xy)
        textbook = (u * v - xy) ** 2
    (total,) = made(points).combine(lines(np.column_stack([x, y])))
    assert total / GRID * points[0, -1] ** 2 == pytest.approx(textbook.sum(), rel=1e-4)


@pytest.mark.parametrize(
    "point",
    [
        (np.nan,) * 7,
        (1e300, -1e300, 1e300, 1e300, 1e300, 1e300, 1e-300),
        (0, 0, 1, 0, 0, 0, 0),
        (-7e9, 3, 1e-9, 5, -2, 0, 1),
    ],
)
def test_no_number_of_a_cell_makes_a_row_add_more(point: tuple[float, ...]) -> None:
    rows = np.array([[0, 0], [100, 10], [3, 7]])
    for place in range(3):
        assert 0 <= made(np.array([point]), 8).combine(lines(rows[place : place + 1]))[0] <= 8


def test_what_one_row_can_move() -> None:
    statistic = made(np.array([BOX.start]), 8)
    assert statistic.sensitivity(Neighbours()).l1 == 8
    assert statistic.sensitivity(Neighbours(relation=Relation.REPLACE)).l1 == 8
    assert statistic.sensitivity(Neighbours(max_rows=3)).l1 == 24
