"""Power sums by hand: rounding is row by row, and shifts are taken off row by row."""

from typing import Any

import numpy as np
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.errors import ParameterError
from dalenius.statistics.power_sum import GRID, PowerSum


def made(power: int, **more: Any) -> PowerSum:
    return PowerSum(needs=(ValuesQuery(value="x"),), space=CellSpace(()), centre=50, half=50, power=power, **more)


def test_ends_and_centre() -> None:
    assert made(3).value([0, 50, 100]) == 0
    assert made(3).value([100]) == GRID**3
    assert made(4).value([50]) == -(GRID**4) // 2
    assert made(4, is_complete=True).value([0, 100]) == 2 * GRID**4


def test_powers_are_near_the_exact_ones() -> None:
    values = np.arange(101)
    exact = float(((values - 50.0) ** 4).sum())
    coarse = made(4, is_complete=True).value(values) * (50 / GRID) ** 4
    assert abs(coarse / exact - 1) < 0.001


def test_what_one_row_can_move() -> None:
    assert made(4).sensitivity(Neighbours()).l1 == GRID**4 // 2
    assert made(4, is_complete=True).sensitivity(Neighbours(relation=Relation.REPLACE)).l1 == GRID**4
    assert made(3).sensitivity(Neighbours()).l1 == GRID**3


def test_other_powers_are_refused() -> None:
    with pytest.raises(ParameterError):
        made(2)
