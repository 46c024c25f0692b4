"""The sum of the cells, known without noise."""

from tests.inference.questions.conftest import TABLE


def test_the_sum_of_cells_and_of_all(ask, counts) -> None:
    found = ask("total", counts, where={"A": ("a0",), "B": ("b1",)})
    assert found.value == found.interval.lower == found.interval.upper == TABLE[0, 1].sum()
    assert ask("total", counts).value == TABLE.sum()
