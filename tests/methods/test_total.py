"""Total: the known answer on fixed records."""

from collections.abc import Callable
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.testing import method_kit


def test_the_answer_is_the_known_one(ask: Callable[..., Any]) -> None:
    table = ask(rows=["sex"], measure="total", of="income", amount=900)[0]
    assert np.abs(table.values - [1830, 3120]).max() <= 5


def test_totals_under_learned_bounds_have_the_reach_of_laplace_noise(tmp_path: Path) -> None:
    """It was that of normal noise of the same variance, which holds 93.7 %."""
    table = {"rows": ["sex"], "measure": "total", "of": "income", "learn": "1/5"}
    release = method_kit.released(
        {"table": table, "privacy": {"definition": "pure", "epsilon": 1}}, tmp_path / "l.sqlite"
    )
    lower, upper = release.interval()
    reach = (upper - lower) / 2 / release.table.std_error
    assert reach == pytest.approx(log(20) / sqrt(2))
