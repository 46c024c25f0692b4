"""Squared influences by hand: what a row adds lies between nothing and the grid, wherever the numbers of its cell come from."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.influence import GRID, InfluenceRows, exponents_of
from dalenius.algebra.intervals import influence_of
from dalenius.algebra.sums import MeasuredArrays, Sums
from dalenius.core import registry
from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import RowsQuery
from dalenius.statistics.squared_influence import SquaredInfluence

NAMES = ("1", "x", "y", "x x", "y y", "x y")
ENDS = {"x": (0, 100), "y": (0, 10)}
TERMS = exponents_of(NAMES, ["x", "y"])
# Products of distances from the middles, in parts of the largest.
START = (50.0, 5.0, *(float(term == (1, 1)) for term in TERMS), 250.0)


def made(point: tuple[float, ...], grid: int = GRID) -> SquaredInfluence:
    query = RowsQuery(variables=("x", "y"), space=CellSpace(()))
    return SquaredInfluence(rows=InfluenceRows(query=query, exponents=TERMS, points=(point,)), grid=grid)


def lines(rows: np.ndarray) -> tuple[np.ndarray]:
    return (np.column_stack([np.zeros(len(rows), dtype=np.int64), rows]).astype(np.int64),)


def test_a_corner_adds_the_whole_grid_and_the_middle_nothing() -> None:
    statistic = made(START)
    assert statistic.combine(lines(np.array([[0, 0], [100, 10]]))).tolist() == [2 * GRID]
    assert statistic.combine(lines(np.array([[50, 0], [0, 5]]))).tolist() == [0]


@pytest.mark.parametrize("name", ["covariance", "correlation"])
def test_the_sum_is_the_textbooks_error_of_sampling(name: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 101, 500)
    y = np.clip(x // 20 + rng.integers(0, 6, 500), 0, 10)
    u, v = x - x.mean(), y - y.mean()
    xx, yy, xy, root = u @ u / 500, v @ v / 500, u @ v / 500, np.sqrt((u @ u) * (v @ v)) / 500
    a, b = x - 50, y - 5
    measured = MeasuredArrays(
        np.array([[500], [a.sum()], [b.sum()], [a @ a], [b @ b], [a @ b]], dtype=float),
        np.zeros((6, 1)),
        np.zeros((6, 1)),
    )
    forms = {each: LinearForm.array(place) for place, each in enumerate(NAMES)}
    law = EstimateLaw(estimator=name, version=1, sums=forms, centres={"x": Fraction(50), "y": Fraction(5)}, ends=ENDS)
    point = influence_of(registry.get("estimators", name), Sums(law, measured))[:, 0]
    (total,) = made(tuple(point)).combine(lines(np.column_stack([x, y])))
    r = xy / root
    moved = u * v - xy if name == "covariance" else u * v / root - r / 2 * (u**2 / xx + v**2 / yy)
    assert total / GRID * point[-1] ** 2 == pytest.approx((moved**2).sum() / 500**2, rel=1e-4)


@pytest.mark.parametrize(
    "point",
    [
        (np.nan,) * (len(TERMS) + 3),
        (1e300, -1e300, *(1e300,) * len(TERMS), 1e-300),
        (0.0, 0.0, 1.0, *(0.0,) * len(TERMS)),
        (-7e9, 3.0, 1e-9, 5.0, -2.0, *(0.0,) * (len(TERMS) - 3), 1.0),
    ],
)
def test_no_number_of_a_cell_makes_a_row_add_more(point: tuple[float, ...]) -> None:
    rows = np.array([[0, 0], [100, 10], [3, 7]])
    for place in range(3):
        assert 0 <= made(point, 8).combine(lines(rows[place : place + 1]))[0] <= 8


def test_what_one_row_can_move() -> None:
    statistic = made(START, 8)
    assert statistic.sensitivity(Neighbours()).l1 == 8
    assert statistic.sensitivity(Neighbours(relation=Relation.REPLACE)).l1 == 8
    assert statistic.sensitivity(Neighbours(max_rows=3)).l1 == 24


def test_a_row_adds_the_same_wherever_it_stands() -> None:
    """A neighbour shifts the rows behind it: what they add must not depend on their place in an array."""
    rng = np.random.default_rng(2)
    powers = exponents_of(("x x x x x", "y y y"), ["x", "y"])
    point = (31.4, 2.7, *rng.normal(size=len(powers)), 1e9)
    query = RowsQuery(variables=("x", "y"), space=CellSpace(()))
    statistic = SquaredInfluence(rows=InfluenceRows(query=query, exponents=powers, points=(point,)))
    rows = np.column_stack([rng.integers(0, 101, 257), rng.integers(0, 11, 257)])
    alone = [int(statistic.combine(lines(rows[k : k + 1]))[0]) for k in range(len(rows))]
    for first in range(9):
        assert statistic.combine(lines(rows[first:])).tolist() == [sum(alone[first:])]
