"""A stated value against a released one, by its intervals."""

import pytest

from dalenius.errors import ParameterError

CELL = {"A": ("a0",), "B": ("b0",), "C": ("c0",)}


def test_a_stated_value_is_rejected_as_the_intervals_reject_it(ask, counts) -> None:
    released = ask("interval", counts)[("a0", "b0", "c0")]
    near = ask("stated_value", counts, value=released.lower, label=CELL)
    far = ask("stated_value", counts, value=released.lower + 60, label=CELL)
    assert near.p_value > 0.05 and far.p_value < 1e-6
    assert far.statistic < 0 and far.details["stated"] == released.lower + 60


def test_one_sided_values_are_about_one_end(ask, counts) -> None:
    value = ask("interval", counts)[("a0", "b0", "c0")].upper + 1
    sides = {
        side: ask("stated_value", counts, value=value, label=CELL, alternative=side).p_value
        for side in ("two-sided", "greater", "less")
    }
    assert sides["less"] <= sides["two-sided"] <= 0.05 and sides["greater"] > 0.5


def test_a_cell_is_named_by_one_label_of_each_axis(ask, counts) -> None:
    with pytest.raises(ParameterError, match="one label for each axis"):
        ask("stated_value", counts, value=1.0, label={"A": ("a0",)})
    with pytest.raises(ParameterError, match="no label"):
        ask("stated_value", counts, value=1.0, label=CELL | {"A": ("nowhere",)})
