"""Mean: the known answer on fixed records."""

from collections.abc import Callable
from typing import Any

import numpy as np


def test_the_answer_is_the_known_one(ask: Callable[..., Any]) -> None:
    table = ask(rows=["sex"], measure="mean", of="income", amount=900)[0]
    assert np.abs(table.values - [30.5, 80]).max() <= 0.2
