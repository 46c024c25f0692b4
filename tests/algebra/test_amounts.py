"""What a list of amounts costs, against every pair of values of two rows."""

from fractions import Fraction
from itertools import product

import pytest

from dalenius.algebra.amounts import Amounts
from dalenius.core.query import Power, RowFunction


@pytest.mark.parametrize(("low", "high"), [(0, 4), (2, 5), (-3, 3), (-5, 1), (-4, -2)])
@pytest.mark.parametrize("is_replace", [False, True])
def test_the_price_is_the_largest_squared_move_of_cells(low: int, high: int, is_replace: bool) -> None:
    """Cells measured one by one: a counted row moves one cell by one, and two cells where it is replaced."""
    amounts = Amounts(function=RowFunction.of(Power("pay")), low=low, high=high)
    # A row without a value adds nothing.
    values = [0, *range(low, high + 1)]
    alone = max(v**2 for v in values)
    same_cell = max((v - u) ** 2 for v, u in product(values, repeat=2))
    two_cells = max(v**2 + u**2 for v, u in product(values, repeat=2))
    largest = max(same_cell, two_cells) if is_replace else alone
    assert amounts.cost(Fraction(2 if is_replace else 1), Fraction(1), is_replace=is_replace) == largest
