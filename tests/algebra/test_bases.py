"""Sums of powers from products of distances to both bounds, against the powers of rows."""

import random
from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest

from dalenius.algebra.bases import bernstein, box, pair, sized
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


ENDS = {"x": (-3, 7, 2), "y": (10, 15, 0)}


@pytest.mark.parametrize(
    "degrees", [{"x": 1}, {"x": 2}, {"x": 4}, {"x": 1, "y": 1}, {"x": 2, "y": 2}, {"x": 1, "y": 3}]
)
def test_every_sum_follows_exactly(degrees: dict[str, int]) -> None:
    chance, roles = random.Random(9), list(degrees)
    rows = [{role: chance.randint(*ENDS[role][:2]) for role in roles} for _ in range(20)]
    places = list(product(*(range(degree + 1) for degree in degrees.values())))

    def corner(row: dict[str, int], place: tuple[int, ...]) -> int:
        return prod(
            comb(degrees[role], i)
            * (row[role] - ENDS[role][0]) ** i
            * (ENDS[role][1] - row[role]) ** (degrees[role] - i)
            for role, i in zip(roles, place, strict=True)
        )

    arrays = [sum(corner(row, place) for row in rows) for place in places]
    forms = box({role: ENDS[role] for role in roles}, degrees)
    assert len(forms) == len(places)
    for name, form in forms.items():
        powers = [name.split().count(role) for role in roles]
        true = sum(
            prod((row[role] - ENDS[role][2]) ** p for role, p in zip(roles, powers, strict=True)) for row in rows
        )
        assert sum(weight * arrays[place] for place, weight in form.weights.items()) == true
