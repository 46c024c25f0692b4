"""Covariance: the known answer on fixed records that have both numbers."""

import numpy as np
import pytest
from tests.methods.pairs import asked


def test_the_answer_is_the_known_one() -> None:
    table = asked({"rows": ["g"], "measure": "covariance", "of": "x", "other": "y"})[0]
    known = [np.cov([0, 1, 2], [1, 1, 3])[0, 1], np.cov([2, 4, 6], [1, 2, 4])[0, 1]]
    assert table.values == pytest.approx(known, abs=0.2)
