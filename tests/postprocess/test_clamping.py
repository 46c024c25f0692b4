"""Clamping: bounds and threshold on released values only."""

import numpy as np
import pytest

from dalenius.errors import ParameterError
from dalenius.postprocess.clamping import Clamping


def test_values_are_cut_and_small_ones_leave_the_gap(make) -> None:
    release = make({("a",): np.array([-2.0, 0.0, 1.0, 2.0, 3.0, 99.0])})
    fixed = Clamping(lower=0, upper=50, threshold=3)(release)
    assert fixed.tables[0].values.tolist() == [0, 0, 0, 3, 3, 50]
    assert fixed.adjustments[-1]["threshold"] == 3
    assert fixed.blocks is release.blocks
    with pytest.raises(ParameterError):
        Clamping(lower=2, upper=1)
