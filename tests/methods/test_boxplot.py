"""Box plots: the five quantiles that they are, kept under one question."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius import table
from dalenius.errors import DaleniusError

Ask = Callable[..., Any]


def says_the_truth(ask: Any) -> None:
    """Of a public file, for tests/end_to_end/test_every_measure.py: each number stands at its rank, but for a hundredth."""
    five = ask("boxplot", {"definition": "pure", "epsilon": 20}, of="age").tables[0].values
    for level, value in zip((0.05, 0.25, 0.5, 0.75, 0.95), five, strict=True):
        assert (ask.age < value).mean() - 0.01 <= level <= (ask.age <= value).mean() + 0.01


def test_the_five_numbers_and_their_distance(ask: Ask) -> None:
    box, distance = ask(measure="boxplot", of="income", amount=90)
    assert np.abs(box.values - [5, 25, 50, 75, 95]).max() <= 4
    assert (np.diff(box.values) >= 0).all() and np.isfinite(box.sampled).all()
    assert abs(distance.values[0] - 50) <= 5


def test_a_box_plot_and_its_quantiles_are_one_question() -> None:
    box = table(measure="boxplot", of="income", beyond="0.1", epsilon=1)
    same = table(measure="quantiles", of="income", q=["9/10", "1/10", "1/4", "1/2", "3/4"], epsilon=1)
    assert box == same


@pytest.mark.parametrize("wrong", [{"beyond": 0}, {"beyond": "1/4"}, {"beyond": "-1/9"}, {"of": "sex"}, {"of": None}])
def test_what_means_nothing_is_refused(ask: Ask, wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        ask(**({"measure": "boxplot", "of": "income"} | wrong))
