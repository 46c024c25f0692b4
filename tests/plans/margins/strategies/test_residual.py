"""Strategy residual: every margin is near its known sum, and the sums add up."""

from collections.abc import Callable
from typing import Any

import numpy as np


def test_margins_are_the_known_sums(ask: Callable[..., Any]) -> None:
    tables = ask("zero_concentrated", strategy="residual", rows=["sex"], columns=["job"], margins="all")
    sizes = {len(t.values): t.values for t in tables if t.space.axes and t.space.axes[0].name == "sex"}
    assert np.abs(sizes[2] - [60, 39]).max() <= 3
    assert np.allclose(sizes[4].reshape(2, 2).sum(axis=1), sizes[2])
