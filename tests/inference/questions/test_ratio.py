"""The quotient of two sums, known without noise."""

import pytest
from tests.inference.questions.conftest import TABLE


def test_the_quotient_of_two_sums(ask, counts) -> None:
    found = ask("ratio", counts, first={"A": ("a0",)}, second={"A": ("a1",)})
    assert found.value == pytest.approx(TABLE[0].sum() / TABLE[1].sum())
    assert found.interval.lower <= found.value <= found.interval.upper
