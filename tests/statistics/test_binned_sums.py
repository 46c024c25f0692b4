"""Binned sums by hand: one number for each bin, three squares for the price of one, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.domain import Bounds, CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.errors import ParameterError
from dalenius.statistics._example import cells
from dalenius.statistics.binned_sums import BinnedSums, bins_of

BOUNDS = Bounds(lower=Fraction(0), upper=Fraction(9))


def test_bins_cover_the_bounds_once() -> None:
    axis, middles = bins_of("x", BOUNDS, 4)
    assert axis.cuts == (0, 3, 6, 9, 10) and middles == (2, 8, 14, 18)
    assert bins_of("x", BOUNDS, 64)[1] == tuple(range(0, 20, 2))


def test_each_row_adds_its_bins_numbers_and_impossible_cells_hold_nothing() -> None:
    shown = cells("a", "b", zeros=frozenset({(1,)}))
    sums = BinnedSums.of(shown, (), [("x", BOUNDS, 2)], ("ones", "middles"), lambda x: (1, x))
    assert sums.combine([np.array([2, 1, 5, 5])]).tolist() == [3, 2 * 4 + 14, 0, 0]
    assert sums.space.structural_indices == (2, 3)


def test_parts_of_a_whole_cost_what_the_whole_costs() -> None:
    def parts(x: int) -> tuple[int, int, int]:
        return ((18 - x) ** 2, 2 * x * (18 - x), x**2)

    sums = BinnedSums.of(CellSpace(()), (), [("x", BOUNDS, 64)], ("low", "middle", "high"), parts)
    added, replaced = (sums.sensitivity(Neighbours(relation=relation)) for relation in Relation)
    assert (added.l1, added.l2_squared, added.linf) == (18**2, 18**4, 18**2)
    assert (replaced.l1, replaced.l2_squared) == (2 * 18**2, 2 * 18**4)


@pytest.mark.parametrize("numbers", [lambda x: (1, 2), lambda x: (2**30,)])
def test_what_does_not_fit_is_refused(numbers: object) -> None:
    with pytest.raises(ParameterError):
        BinnedSums.of(CellSpace(()), (), [("x", BOUNDS, 4)], ("one",), numbers)  # type: ignore[arg-type]
