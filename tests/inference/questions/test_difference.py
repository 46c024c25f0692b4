"""The difference of two sums, known without noise."""

from tests.inference.questions.conftest import TABLE


def test_the_difference_of_two_sums(ask, counts) -> None:
    found = ask("difference", counts, first={"A": ("a0",)}, second={"A": ("a1",)})
    assert found.value == found.interval.lower == found.interval.upper == TABLE[0].sum() - TABLE[1].sum()
