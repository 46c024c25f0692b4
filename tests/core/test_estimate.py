"""Results print themselves: bounds as bounds, levels without rounding up."""

import numpy as np
import pytest

from dalenius.core.estimate import Interval, Kind, TestResult


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
def test_a_simulated_p_value_at_its_limit_is_a_bound(
    result: TestResult, text: str, is_at_limit: bool
) -> None:
    assert f"p-value {text}" in str(result) and "1 degree of freedom" in str(result)
    assert result.to_dict()["is_at_limit"] is is_at_limit
    assert result.to_dict()["p_value"] == result.p_value


def test_a_level_is_never_printed_as_certainty() -> None:
    shown = str(Interval(lower=1, upper=2, confidence=0.9999, kind=Kind.NOISE))
    assert "99.99%" in shown
