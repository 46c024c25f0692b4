"""Sums measured together: known norms of every basis, and every replacement of total beside squares."""

from itertools import product

import numpy as np
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.statistics import Parabola, Separate, Simplex
from dalenius.statistics._example import cells
from dalenius.statistics.row_sums import RowSums

ADDED, REPLACED = (Neighbours(relation=relation) for relation in (Relation.ADD_REMOVE, Relation.REPLACE))
QUERY = TableQuery(space=CellSpace(()), function=RowFunction.of(Power("x")))


def sums(basis: Separate | Simplex | Parabola, arrays: int = 1, halvings: int = 0) -> RowSums:
    query = TableQuery(space=CellSpace(()), function=QUERY.function, halvings=halvings)
    return RowSums(queries=(query,) * arrays, basis=basis)


def test_sums_of_a_cell_stand_side_by_side_and_impossible_cells_stay_so() -> None:
    query = TableQuery(space=cells("a", "b", zeros=frozenset({(1,)})))
    both = RowSums(queries=(query, query), basis=Simplex(total=1))
    assert both.combine([np.array([1, 2]), np.array([3, 4])]).tolist() == [1, 3, 2, 4]
    assert both.space.structural_indices == (2, 3)


def test_sums_of_other_cells_or_units_are_not_measured_together() -> None:
    with pytest.raises(ParameterError):
        RowSums(queries=(QUERY, TableQuery(space=cells("a", "b"))), basis=Simplex(total=1))
    with pytest.raises(ParameterError):
        RowSums(queries=(QUERY, TableQuery(space=CellSpace(()), halvings=1)), basis=Simplex(total=1))


def test_a_shift_halves_what_a_square_can_add() -> None:
    squares = sums(Separate(low=-12, high=13))
    assert squares.sensitivity(ADDED).l1 == 13
    assert squares.sensitivity(REPLACED).l1 == 25


def test_a_public_number_of_rows_moves_by_the_range() -> None:
    assert sums(Separate(low=10, high=25, is_complete=True)).sensitivity(REPLACED).l1 == 15


@pytest.mark.parametrize("arrays", [2, 3])
def test_parts_of_a_whole_cost_what_the_whole_costs(arrays: int) -> None:
    powers = sums(Simplex(total=18), arrays)
    added, replaced = powers.sensitivity(ADDED), powers.sensitivity(REPLACED)
    assert (added.l1, added.l2_squared, added.linf) == (18, 18**2, 18)
    assert (replaced.l1, replaced.l2_squared) == (36, 2 * 18**2)
    persons = powers.sensitivity(Neighbours(max_rows=3, unit="person"))
    assert (persons.l1, persons.l2_squared) == (54, 54**2)


@pytest.mark.parametrize("is_pure", [True, False])
@pytest.mark.parametrize("high", range(1, 24))
@pytest.mark.parametrize("low", [-3, 0, 5])
def test_every_replacement_stays_within_both_norms_of_a_parabola(low: int, high: int, is_pure: bool) -> None:
    basis = Parabola.of(low, low + high, is_pure=is_pure)
    norms, l1, l2 = sums(basis, 2).sensitivity(REPLACED), 0, 0
    for x, y in product(range(low, low + high + 1), repeat=2):
        moved = (basis.first * abs(x - y), basis.second * abs((x - basis.centre) ** 2 - (y - basis.centre) ** 2))
        l1, l2 = max(l1, sum(moved)), max(l2, sum(each**2 for each in moved))
        assert max(moved) <= norms.linf
    assert l1 <= norms.l1 and l2 <= norms.l2_squared
    # The norm that it is weighed for is reached, and is that of the total alone but for the half step of an odd width.
    reached, stated = (l1, norms.l1) if is_pure else (l2, norms.l2_squared)
    assert reached == stated
    alone = basis.first * high if is_pure else (basis.first * high) ** 2
    if high % 2 == 0:
        assert stated == alone


def test_squares_that_weigh_too_much_are_refused() -> None:
    with pytest.raises(ParameterError):
        Parabola(low=0, high=10, first=1, second=1)
    with pytest.raises(ParameterError):
        Parabola.of(3, 3, is_pure=True)


@pytest.mark.parametrize("halvings", [1, 2, 3])
def test_halved_sums_move_by_at_most_a_unit_more_in_each_array(halvings: int) -> None:
    """Pairs that add up to 9 beside every remainder of other rows: all of one row's moves, added and replaced."""
    norms = {each: sums(Simplex(total=9), 2, halvings).sensitivity(each) for each in (ADDED, REPLACED)}
    c = 2**halvings
    rows = [(first, second) for first in range(10) for second in range(10 - first)]
    moves = {ADDED: rows, REPLACED: [(a - b, d - e) for (a, d), (b, e) in product(rows, repeat=2)]}
    for neighbours, stated in norms.items():
        assert stated.l1 <= sums(Simplex(total=9), 2).sensitivity(neighbours).l1 / c + stated.l0
        for (a, b), first, second in product(moves[neighbours], range(c), range(c)):
            moved = [
                abs((start + move + c // 2) // c - (start + c // 2) // c) for start, move in ((first, a), (second, b))
            ]
            assert sum(moved) <= stated.l1 and sum(each**2 for each in moved) <= stated.l2_squared


def test_nothing_moves_where_no_cell_is_possible() -> None:
    query = TableQuery(space=cells("a", zeros=frozenset({(0,)})))
    none = RowSums(queries=(query, query), basis=Simplex(total=4)).sensitivity(ADDED)
    assert none == Sensitivity.of_patterns(())
