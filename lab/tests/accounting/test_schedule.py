"""Schedules never add up to more than the whole."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.core.budget import UNIT
from dalenius.errors import ParameterError
from dalenius_lab.accounting.schedule import spread


def test_equal_waves_are_rounded_down():
    waves = spread(["1", "2", "3"], 1, "1e-6")
    assert [w[1] for w in waves] == [333333333333 * UNIT] * 3
    assert spread(["1", "2"], 1, 0, weights=[1, 3])[1][1] == Fraction(3, 4)


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=20),
    st.fractions(min_value=0, max_value=10, max_denominator=10**6),
)
def test_the_waves_add_up_to_at_most_the_whole(weights, rho):
    waves = spread([str(i) for i in range(len(weights))], rho, 0, weights)
    total = sum(w[1] for w in waves)
    assert rho - len(weights) * UNIT <= total <= rho


@pytest.mark.parametrize("bad", [([], None), (["a", "a"], None), (["a"], [0]), (["a"], [1, 2])])
def test_bad_schedules_are_refused(bad):
    with pytest.raises(ParameterError):
        spread(bad[0], 1, 0, bad[1])
