"""Clamping: bounds on released values only."""

import numpy as np
import pytest

from dalenius.errors import ParameterError
from dalenius.postprocess.clamping import Clamping


def test_values_are_cut_at_the_declared_bounds(make) -> None:
    release = make({("a",): np.array([-2.0, 0.0, 1.0, 2.0, 3.0, 99.0])})
    fixed = Clamping(lower=0, upper=50)(release)
    assert fixed.tables[0].values.tolist() == [0, 0, 1, 2, 3, 50]
    assert fixed.adjustments[-1]["lower"] == 0 and fixed.adjustments[-1]["upper"] == 50
    assert fixed.blocks is release.blocks
    with pytest.raises(ParameterError):
        Clamping(lower=2, upper=1)
