"""By how many per cent a sum changed, known without noise."""

import pytest
from tests.inference.questions.conftest import TABLE


def test_the_change_from_one_sum_to_another(ask, counts) -> None:
    found = ask("change", counts, first={"A": ("a0",)}, second={"A": ("a1",)})
    assert found.value == pytest.approx(100 * (TABLE[1].sum() / TABLE[0].sum() - 1))
    assert found.interval.lower <= found.value <= found.interval.upper
