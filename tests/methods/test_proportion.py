"""Proportion: the known answer on fixed records, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.errors import DaleniusError

Ask = Callable[..., Any]


def test_the_answer_is_the_known_one(ask: Ask) -> None:
    table, counts = ask(rows=["sex"], measure="proportion", of="job", among=["yes"], amount=40)
    assert table.values.tolist() == [40 / 60, 26 / 39]
    assert counts.values.tolist() == [60, 39]
    assert table.sampled is not None
    assert np.sqrt(table.sampled[0]) == pytest.approx(np.sqrt(2 / 9 / 60), rel=0.02)


def test_numbers_are_asked_for_by_their_ends_and_rates_by_per(ask: Ask) -> None:
    table = ask(measure="proportion", of="income", among={"at_least": 11, "at_most": 20}, per=1000, amount=40)[0]
    assert table.values.tolist() == [pytest.approx(10 / 99 * 1000)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"of": "job"},
        {"of": "job", "among": []},
        {"of": "job", "among": ["yes", "no"]},
        {"of": "job", "among": {"at_least": 1}},
        {"of": "job", "among": ["yes"], "rows": ["job"]},
        {"of": "job", "among": ["perhaps"]},
        {"of": "income", "among": ["1"]},
        {"of": "income"},
        {"of": "income", "among": {"at_least": 0}},
        {"of": "income", "among": {"at_least": 20, "at_most": 10}},
        {"of": "income", "among": {"at_least": 20}, "per": 0},
    ],
)
def test_what_means_nothing_is_refused(ask: Ask, wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        ask(measure="proportion", **wrong)
