"""Padded windows, local and smooth sensitivities on arbitrary integers (hypothesis)."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.exact.order_statistics import (
    index_rule,
    local_of_monotone,
    prepare,
    rational_base,
    smooth_add_remove,
    smooth_replace,
)

LOW, HIGH = -50, 1000
DATA = st.lists(st.integers(LOW, HIGH), max_size=30)
QUANTILES = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)


@given(DATA, st.integers(-5, 40), st.integers(0, 40))
def test_windows_follow_the_padding_convention(values, first, length):
    data = prepare(values, LOW, HIGH)
    expected = [data.at(p) for p in range(first, first + length)]
    assert data.window(first, first + length - 1).tolist() == expected


@given(DATA, QUANTILES)
def test_index_rules_move_by_at_most_one(values, q):
    n = len(values)
    assert 0 <= index_rule(q, n + 1) - index_rule(q, n) <= 1


@settings(max_examples=60, deadline=None)
@given(DATA.filter(bool), QUANTILES, st.integers(0, 29), st.integers(LOW, HIGH), st.booleans())
def test_smooth_bounds_cover_and_are_smooth(values, q, place, new, is_replace):
    """One random neighbour of random data: the bound covers the change there, and moves by at most exp(beta)."""
    base = rational_base(Fraction(1, 5))
    place %= len(values)
    changed = [*values[:place], *([new] if is_replace else []), *values[place + 1 :]]

    def answer(data):
        return data.at(index_rule(q, len(data)))

    left, right = prepare(values, LOW, HIGH), prepare(changed, LOW, HIGH)
    sizes = []
    for data in (left, right):
        m = index_rule(q, len(data))
        size = smooth_replace(data, m, m, base) if is_replace else smooth_add_remove(data, m, base)
        assert size >= local_of_monotone(data, answer, is_replace=is_replace)
        sizes.append(size)
    assert abs(answer(left) - answer(right)) <= min(sizes)
    assert sizes[0] * base <= sizes[1]
    assert sizes[1] * base <= sizes[0]


@given(DATA)
def test_prepare_sorts_and_clamps(values):
    data = prepare([v * 3 for v in values], LOW, HIGH)
    assert np.all(np.diff(data.values) >= 0)
    assert all(LOW <= v <= HIGH for v in data.values.tolist())
