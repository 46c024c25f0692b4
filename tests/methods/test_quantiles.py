"""Quantiles: the known answers on fixed records, ends around them, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalenius.errors import DaleniusError

Ask = Callable[..., Any]


def test_quartiles_and_their_distance(ask: Ask) -> None:
    table, distance = ask(measure="quantiles", of="income", amount=100)
    assert np.abs(table.values - [25, 50, 75]).max() <= 2
    assert [axis.name for axis in table.space.axes] == ["quantile"]
    assert np.abs(distance.values - 50).max() <= 4
    # A quartile of 99 evenly spread values has a standard error of about 100 sqrt(3/16 / 99).
    assert np.sqrt(table.sampled) == pytest.approx([4.4, 5.0, 4.4], rel=0.35)
    assert (table.variance < table.sampled).all()


def test_a_median_by_cell(ask: Ask) -> None:
    (table,) = ask(rows=["sex"], measure="quantiles", of="income", q=["1/2"], amount=100)
    assert np.abs(table.values - [30, 80]).max() <= 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"parts": 1},
        {"parts": 1000},
        {"q": ["0"]},
        {"q": ["3/2"]},
        {"q": []},
        {"parts": 4, "q": ["1/2"]},
        {"of": "sex"},
    ],
)
def test_what_means_nothing_is_refused(ask: Ask, wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        ask(**({"measure": "quantiles", "of": "income"} | wrong))


def test_quantiles_without_ends_have_the_error_of_noise_alone(ask: Ask) -> None:
    table, distance = ask(measure="quantiles", of="income", error="noise", amount=60)
    assert np.abs(table.values - [25, 50, 75]).max() <= 2
    assert table.sampled is None and distance.sampled is None
    assert np.isfinite(table.variance).all()
    with pytest.raises(DaleniusError, match="ends"):
        ask(measure="quantiles", of="income", q=["1/2"], error="noise")
