"""The standardised linear-by-linear association, whose sign is that of the trend."""

import pytest
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError


def test_a_rising_outcome_is_told_from_a_falling_one(ask, counts) -> None:
    pair = TABLE.sum(0)
    assert pair[0, 0] * pair[1, 1] > pair[0, 1] * pair[1, 0]
    p_values = {
        side: ask("trend", counts, axes=("B", "C"), alternative=side, replicates=199).p_value
        for side in ("increasing", "decreasing", "two-sided")
    }
    assert p_values["increasing"] <= 0.01
    assert p_values["decreasing"] > 0.9
    assert p_values["two-sided"] <= 0.02


def test_scores_that_are_spread_alike_change_nothing(ask, counts) -> None:
    plain = ask("trend", counts, axes=("B", "C"), replicates=99)
    spread = ask("trend", counts, axes=("B", "C"), column_scores=(10.0, 30.0), replicates=99)
    assert spread.statistic == pytest.approx(plain.statistic)


def test_scores_and_axes_are_checked(ask, counts) -> None:
    with pytest.raises(ParameterError, match="scores"):
        ask("trend", counts, axes=("B", "C"), row_scores=(1.0,))
    with pytest.raises(ParameterError, match="two ordered axes"):
        ask("trend", counts, axes=("B",))
