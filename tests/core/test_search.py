"""Searches against brute force, and what holds of every one: the ends keep their sides, and only numbers between are judged."""

from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.core.search import largest, narrow, narrow_each, smallest

ends = st.tuples(st.integers(-60, 60), st.integers(1, 80)).map(lambda pair: (pair[0], pair[0] + pair[1]))
unit = st.floats(0, 1, exclude_min=True, exclude_max=True)


@given(ends, st.integers(-70, 150))
def test_the_largest_integer_is_that_of_brute_force(pair: tuple[int, int], edge: int) -> None:
    low, high = pair
    assert largest(lambda k: k <= edge, low, high) == max(k for k in range(low, high) if k <= edge or k == low)


@given(ends, st.integers(-70, 150))
def test_the_smallest_integer_is_that_of_brute_force(pair: tuple[int, int], edge: int) -> None:
    low, high = pair
    assert smallest(lambda k: k >= edge, low, high) == min(
        k for k in range(low + 1, high + 1) if k >= edge or k == high
    )


@given(ends, st.integers(-70, 150))
def test_integers_are_judged_strictly_between_the_ends_and_once(pair: tuple[int, int], edge: int) -> None:
    for search, sign in ((largest, 1), (smallest, -1)):
        judged: list[int] = []

        def fits(k: int, judged: list[int] = judged, sign: int = sign) -> bool:
            judged.append(k)
            return sign * k <= sign * edge

        search(fits, *pair)
        assert len(judged) == len(set(judged)) <= (pair[1] - pair[0]).bit_length()
        assert all(pair[0] < k < pair[1] for k in judged)


@given(unit)
def test_floats_are_narrowed_to_neighbours_on_either_side_of_the_edge(edge: float) -> None:
    below = narrow(lambda x: x <= edge, 0.0, 1.0)
    assert below.inside == edge and below.outside == np.nextafter(edge, 1)
    above = narrow(lambda x: x >= edge, inside=1.0, outside=0.0)
    assert above.inside == edge and above.outside == np.nextafter(edge, 0)


@given(unit, st.integers(0, 40))
def test_both_ends_keep_their_side_at_any_number_of_halvings(edge: float, halvings: int) -> None:
    inside, outside = narrow(lambda x: x <= edge, 0.0, 1.0, halvings=halvings)
    assert inside <= edge < outside or (inside, outside) == (0.0, 1.0)
    assert outside - inside == 0.5**halvings


@given(st.fractions(0, 1, max_denominator=10**6), st.integers(1, 10**6))
def test_fractions_end_on_their_grid_on_the_side_that_fits(edge: Fraction, grid: int) -> None:
    """The largest multiple of 1 / grid up to the edge, by `between` alone: the search ends where none lies between."""
    bracket = narrow(
        lambda x: x <= edge,
        Fraction(0),
        Fraction(2),
        between=lambda low, high: Fraction(int((low + high) / 2 * grid), grid),
    )
    assert bracket.inside == Fraction(int(edge * grid), grid)


@given(st.fractions(0, 1), st.integers(1, 40))
def test_it_ends_as_soon_as_the_ends_are_close(edge: Fraction, bits: int) -> None:
    step = Fraction(1, 1 << bits)
    bracket = narrow(lambda x: x <= edge, Fraction(0), Fraction(1), until=lambda low, high: high - low <= step)
    assert bracket.outside - bracket.inside == step
    assert bracket.inside <= edge <= bracket.outside


def test_it_ends_where_the_answer_cannot_be_told() -> None:
    bracket = narrow(lambda k: None if 40 < k < 60 else k <= 50, 0, 128, between=lambda low, high: (low + high) // 2)
    assert bracket == (32, 64)  # 64 is too large, 32 fits, 48 cannot be told


def test_the_answer_of_the_last_number_that_fits_is_the_last_that_was_given() -> None:
    """Callers that keep what they made on the way rely on it."""
    fitting = [0.0]

    def fits(x: float) -> bool:
        if x <= 0.3:
            fitting.append(x)
        return x <= 0.3

    assert narrow(fits, 0.0, 1.0, halvings=20).inside == fitting[-1]


def test_halfway_is_on_the_geometric_scale_where_asked() -> None:
    assert narrow(lambda x: x <= 1, Fraction(1), Fraction(2), halvings=1).outside == Fraction(3, 2)
    inside, outside = narrow(lambda x: x <= 1e-7, 1e-12, 1.0, halvings=30, between=lambda a, b: (a * b) ** 0.5)
    assert inside <= 1e-7 < outside
    assert outside / inside < 1 + 1e-7


@given(st.lists(ends, min_size=1, max_size=8), st.integers(-70, 150))
def test_many_integers_at_once_are_those_one_by_one(pairs: list[tuple[int, int]], edge: int) -> None:
    low, high = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    up = narrow_each(lambda k: k <= edge, low, high)
    assert up.inside.tolist() == [largest(lambda k: k <= edge, *pair) for pair in pairs]
    assert (up.outside - up.inside == 1).all()
    down = narrow_each(lambda k: k >= edge, high, low)
    assert down.inside.tolist() == [smallest(lambda k: k >= edge, *pair) for pair in pairs]


@given(st.lists(unit, min_size=1, max_size=8), st.sampled_from([None, 0, 7, 30]))
def test_many_floats_at_once_are_those_one_by_one(edges: list[float], halvings: int | None) -> None:
    edge = np.array(edges)
    zeros, ones = np.zeros(len(edges)), np.ones(len(edges))
    many = narrow_each(lambda x: x <= edge, zeros, ones, halvings=halvings)
    singly = [narrow(lambda x, e=e: x <= e, 0.0, 1.0, halvings=halvings) for e in edges]
    assert list(zip(many.inside.tolist(), many.outside.tolist(), strict=True)) == [tuple(one) for one in singly]


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
def test_it_agrees_with_bisection_of_the_standard_library(size: int) -> None:
    for edge in range(size + 1):
        assert smallest(lambda k, edge=edge: k >= edge, -1, size) == bisect_left(range(size), edge)
