"""Minimum: the known answer on fixed records."""

from collections.abc import Callable
from typing import Any

import numpy as np


def test_the_answer_is_the_known_one(ask: Callable[..., Any]) -> None:
    table = ask(measure="minimum", of="income", method="lomax")[0]
    assert np.abs(table.values - [1]).max() <= 6
