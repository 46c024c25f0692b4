"""Correlation: the known answer on fixed records that have both numbers, and what is refused."""

import numpy as np
import pytest
from tests.methods.pairs import asked

from dalenius.errors import DaleniusError


def test_the_answer_is_the_known_one() -> None:
    table = asked({"measure": "correlation", "of": "x", "other": "y"})[0]
    known = np.corrcoef([0, 1, 2, 2, 4, 6], [1, 1, 3, 1, 2, 4])[0, 1]
    assert table.values == pytest.approx([known], abs=0.05)


def test_a_variable_with_itself_is_refused() -> None:
    with pytest.raises(DaleniusError, match="same"):
        asked({"measure": "correlation", "of": "x", "other": "x"})
