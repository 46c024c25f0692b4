"""Sums of powers from products of distances to both bounds, against the powers of rows."""

from fractions import Fraction
from math import comb

import pytest

from dalenius.algebra.bases import bernstein, pair, sized
from dalenius.algebra.estimate_law import LinearForm

ROWS = (-1, -1, 0, 2, 3)


def value(form: LinearForm, arrays: list[int]) -> Fraction:
    return form.constant + sum(weight * arrays[place] for place, weight in form.weights.items())


@pytest.mark.parametrize("degree", range(5))
def test_all_powers_up_to_a_degree_follow_exactly(degree: int) -> None:
    low, high, centre = -1, 3, Fraction(1, 2)
    arrays = [
        sum(comb(degree, i) * (x - low) ** i * (high - x) ** (degree - i) for x in ROWS) for i in range(degree + 1)
    ]
    for power, form in enumerate(bernstein(low, high, centre, degree)):
        assert value(form, arrays) == sum((x - centre) ** power for x in ROWS)


def test_a_pair_and_a_public_size_tell_the_same() -> None:
    above, below = sum(x + 1 for x in ROWS), sum(3 - x for x in ROWS)
    two, one = pair(-1, 3, 1), sized(-1, 1, len(ROWS))
    assert [value(two[name], [above, below]) for name in ("1", "x")] == [5, sum(x - 1 for x in ROWS)]
    assert [value(one[name], [above]) for name in ("1", "x")] == [5, sum(x - 1 for x in ROWS)]
