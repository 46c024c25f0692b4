"""Sums measured together: known norms of every basis, and every replacement of total beside squares."""

from itertools import product
from math import comb, prod

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
    return RowSums(needs=(query,) * arrays, basis=basis)


def test_sums_of_a_cell_stand_side_by_side_and_impossible_cells_stay_so() -> None:
    query = TableQuery(space=cells("a", "b", zeros=frozenset({(1,)})))
    both = RowSums(needs=(query, query), basis=Simplex(total=1))
    assert both.combine([np.array([1, 2]), np.array([3, 4])]).tolist() == [1, 3, 2, 4]
    assert both.space.structural_indices == (2, 3)


def test_sums_of_other_cells_or_units_are_not_measured_together() -> None:
    with pytest.raises(ParameterError):
        RowSums(needs=(QUERY, TableQuery(space=cells("a", "b"))), basis=Simplex(total=1))
    with pytest.raises(ParameterError):
        RowSums(needs=(QUERY, TableQuery(space=CellSpace(()), halvings=1)), basis=Simplex(total=1))


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


def reached(basis: Parabola) -> tuple[int, int]:
    """The largest l1 norm and squared l2 norm over every replacement."""
    l1 = l2 = 0
    for x, y in product(range(basis.low, basis.high + 1), repeat=2):
        moved = (basis.first * abs(x - y), basis.second * abs((x - basis.centre) ** 2 - (y - basis.centre) ** 2))
        l1, l2 = max(l1, sum(moved)), max(l2, sum(each**2 for each in moved))
        assert max(moved) <= sums(basis, 2).sensitivity(REPLACED).linf
    return l1, l2


@pytest.mark.parametrize("is_pure", [True, False])
@pytest.mark.parametrize("high", [*range(1, 24), 40, 41])
@pytest.mark.parametrize("low", [-3, 0, 5])
def test_every_replacement_stays_within_both_norms_of_a_parabola(low: int, high: int, is_pure: bool) -> None:
    basis = Parabola.of(low, low + high, is_pure=is_pure)
    norms, (l1, l2) = sums(basis, 2).sensitivity(REPLACED), reached(basis)
    assert l1 <= norms.l1 and l2 <= norms.l2_squared
    # The norm that it is weighed for is reached, and is that of the total alone but for the half step of an odd width.
    largest, stated = (l1, norms.l1) if is_pure else (l2, norms.l2_squared)
    assert largest == stated
    alone = basis.first * high if is_pure else (basis.first * high) ** 2
    if high % 2 == 0:
        assert stated == alone


@pytest.mark.parametrize("second", [1, 5, 16, 17, 20, 40, 200])
@pytest.mark.parametrize("high", [1, 2, 3, 8, 9, 20, 31])
def test_squares_of_any_weight_are_paid_for(high: int, second: int) -> None:
    """From 1.665 times the total on the largest move lies elsewhere, and squares cost something."""
    basis = Parabola(low=2, high=2 + high, first=10 * (high - high // 2), second=second)
    norms, (l1, l2) = sums(basis, 2).sensitivity(REPLACED), reached(basis)
    assert l1 <= norms.l1 and l2 <= norms.l2_squared
    # Moves of whole values are of one parity, so that a bound over all of them may exceed the largest by a step.
    assert l2 > norms.l2_squared * (1 - 2 / high) if high > 8 else norms.l2_squared < 4 * l2
    if high == 20:
        assert (norms.l2_squared > (basis.first * high) ** 2) == (second > 16)


def test_values_and_weights_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError):
        Parabola(low=0, high=10, first=1, second=0)
    with pytest.raises(ParameterError):
        Parabola.of(3, 3, is_pure=True)


@pytest.mark.parametrize("degrees", [(1, 1), (2, 2), (4,), (1, 2)])
@pytest.mark.parametrize("multiple", [1, 3])
def test_products_of_distances_from_both_bounds_of_two_variables_stay_within_the_price_of_one(
    degrees: tuple[int, ...], multiple: int
) -> None:
    """Every row, added, removed, replaced or dropping out: as a plan writes its functions, times a weight."""
    bounds = dict(zip(("x", "y"), ((-1, 2), (0, 2)), strict=True))
    roles = list(bounds)[: len(degrees)]
    places = list(product(*(range(degree + 1) for degree in degrees)))
    functions = [
        RowFunction.of(
            *(Power(role, offset=-bounds[role][0], exponent=i) for role, i in zip(roles, place, strict=True)),
            *(
                Power(role, slope=-1, offset=bounds[role][1], exponent=degree - i)
                for role, degree, i in zip(roles, degrees, place, strict=True)
            ),
            multiple=multiple * prod(comb(d, i) for d, i in zip(degrees, place, strict=True)),
        )
        for place in places
    ]
    total = multiple * prod((bounds[role][1] - bounds[role][0]) ** d for role, d in zip(roles, degrees, strict=True))
    points = product(*(range(bounds[role][0], bounds[role][1] + 1) for role in roles))
    rows = [tuple(f.value(dict(zip(roles, point, strict=True))) for f in functions) for point in points]
    rows.append((0,) * len(functions))
    norms = {each: sums(Simplex(total=total), len(functions)).sensitivity(each) for each in (ADDED, REPLACED)}
    assert {sum(row) for row in rows} == {0, total} and min(min(row) for row in rows) == 0
    for first, second in product(rows, repeat=2):
        moved = [abs(a - b) for a, b in zip(first, second, strict=True)]
        assert sum(moved) <= norms[REPLACED].l1 and sum(m * m for m in moved) <= norms[REPLACED].l2_squared
        assert max(first) <= norms[ADDED].linf
        assert sum(first) <= norms[ADDED].l1 and sum(m * m for m in first) <= norms[ADDED].l2_squared
    # Opposite corners reach both norms.
    assert max(sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in product(rows, repeat=2)) == 2 * total


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
    none = RowSums(needs=(query, query), basis=Simplex(total=4)).sensitivity(ADDED)
    assert none == Sensitivity.of_patterns(())
