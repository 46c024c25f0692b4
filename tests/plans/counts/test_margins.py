"""Counts in margins: known sums that add up, and a named strategy for a table alone."""

from collections.abc import Callable
from typing import Any

import numpy as np


def test_margins_are_the_known_sums_and_add_up(ask: Callable[..., Any]) -> None:
    cross, sexes = ask("zero_concentrated", 400, rows=["sex"], columns=["job"], margins=[["sex", "job"], ["sex"]])
    assert np.abs(sexes.values - [60, 39]).max() <= 1
    np.testing.assert_allclose(cross.values.reshape(2, 2).sum(axis=1), sexes.values, atol=1e-9)


def test_a_strategy_alone_asks_for_the_route(ask: Callable[..., Any]) -> None:
    (table,) = ask(rows=["sex"], strategy="interior")
    assert np.abs(table.values - [60, 39]).max() <= 1
