"""Dominance: the known answer on fixed records."""

from collections.abc import Callable
from typing import Any

import numpy as np


def test_the_answer_is_the_known_one(ask: Callable[..., Any]) -> None:
    table = ask(rows=["sex"], measure="dominance", of="income", rule={"n": 1, "k": 90})[0]
    assert np.abs(table.values - [0]).max() <= 1
