"""Results print themselves: bounds as bounds, levels without rounding up."""

import numpy as np
import pytest

from dalenius.core.estimate import Estimate, Interval, Kind, TestResult


def _result(p_value: float, simulated: int = 0) -> TestResult:
    return TestResult(
        name="a test",
        statistic=3.5,
        p_value=p_value,
        method="by hand",
        degrees_of_freedom=1,
        details={"simulated": np.zeros(simulated)},
    )


@pytest.mark.parametrize(
    ("result", "text", "is_at_limit"),
    [
        (_result(0.001, 999), "≤ 0.001", True),
        (_result(0.002, 999), "0.002", False),
        (_result(0.001), "0.001", False),
        (_result(0.0), "below 1e-300", False),
        (_result(1 / 20, 19), "≤ 0.05", True),
    ],
)
def test_a_simulated_p_value_at_its_limit_is_a_bound(result: TestResult, text: str, is_at_limit: bool) -> None:
    assert f"p-value {text}" in str(result) and "1 degree of freedom" in str(result)
    assert result.to_dict()["is_at_limit"] is is_at_limit
    assert result.to_dict()["p_value"] == result.p_value


def test_a_level_is_never_printed_as_certainty() -> None:
    shown = str(Interval(lower=1, upper=2, confidence=0.9999, kind=Kind.NOISE))
    assert "99.99%" in shown


def test_an_interval_is_printed_with_digits_that_tell_its_ends_apart() -> None:
    interval = Interval(lower=0.155648, upper=0.155673, confidence=0.95, kind=Kind.NOISE)
    estimate = Estimate(name="a share", value=0.15566, std_error=6.2e-06, interval=interval)
    assert "[0.155648, 0.155673]" in str(interval) and "0.15566 (standard error 6.2e-06)" in str(estimate)
    point = Interval(lower=0.25, upper=0.25, confidence=0.95, kind=Kind.NOISE)
    assert "[0.25, 0.25]" in str(point)
