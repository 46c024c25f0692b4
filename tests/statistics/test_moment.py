"""Moments by hand: shifted squares, squares of a public number of rows, and products of rows that have both variables."""

import numpy as np
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.spec.dataset import DatasetDocument
from dalenius.statistics.moment import LIMIT, Moment

DOMAIN = DatasetDocument.from_dict(
    {
        "dataset": {"name": "d", "population": "p"},
        "variables": {
            "x": {"bounds": [0, 10], "step": 1},
            "y": {"bounds": [100, 104], "step": 1},
            "wide": {"bounds": [0, 100_000_000], "step": 1},
        },
    }
).domain()
QUERY = TableQuery(space=CellSpace(()), value="x", centre=5)


def test_a_shift_halves_what_a_row_can_add() -> None:
    squares = Moment.squares(QUERY, DOMAIN.variable("x").bounds, is_complete=False)
    assert squares.sensitivity(Neighbours()).l1 == 13
    assert (squares.low, squares.high) == (-12, 13)
    # Three rows at 0, 5 and 9: squares 25, 0 and 16, less 12 for each row.
    assert squares.combine([np.array([41]), np.array([3])]).tolist() == [5]


def test_a_public_number_of_rows_needs_no_shift() -> None:
    squares = Moment.squares(QUERY, DOMAIN.variable("x").bounds, is_complete=True, is_shifted=False)
    assert squares.sensitivity(Neighbours(relation=Relation.REPLACE)).l1 == 25
    assert len(squares.needs) == 1


def test_products_are_about_both_centres() -> None:
    x, y = DOMAIN.variable("x").bounds, DOMAIN.variable("y").bounds
    products = Moment.products(QUERY, x, "y", y, 102, is_complete=False)
    assert (products.low, products.high) == (-10, 10)
    # Rows (0, 100) and (9, 103): -5 * 100 + 4 * 103 = -88, and 102 * (-5 + 4) = -102 is taken off.
    assert products.combine([np.array([-88]), np.array([-1])]).tolist() == [14]


def test_products_that_could_fill_the_engine_count_what_is_taken_off_them() -> None:
    wide, y = DOMAIN.variable("wide").bounds, DOMAIN.variable("y").bounds
    query = TableQuery(space=CellSpace(()), value="wide", centre=50_000_000)
    products = Moment.products(query, wide, "y", y, 102, is_complete=False)
    assert products.high == 50_000_000 * 102


@pytest.mark.parametrize("huge", [10**18, -(10**18)])
def test_sums_beyond_the_limit_are_cut(huge: int) -> None:
    squares = Moment.squares(QUERY, DOMAIN.variable("x").bounds, is_complete=False)
    (value,) = squares.combine([np.array([0]), np.array([huge])]).tolist()
    assert value == (-LIMIT if huge > 0 else LIMIT)
