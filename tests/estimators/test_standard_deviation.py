"""Standard deviation: root of the variance, and of the ends of its intervals."""

import numpy as np
import pytest

from dalenius.algebra.intervals import estimate
from dalenius.estimators.standard_deviation import STANDARD_DEVIATION
from dalenius.estimators.variance import VARIANCE
from dalenius.testing.exact_sums import exact_sums

X = np.array([[0, 2, 3, 7, 8, 10], [5, 5, 6, 7, 9, 40]], dtype=float)


def test_it_is_the_root_of_the_variance_and_of_its_ends() -> None:
    sums = exact_sums(STANDARD_DEVIATION, {"x": X}, copies=100)
    root, square = estimate(STANDARD_DEVIATION, sums), estimate(VARIANCE, sums)
    assert root.values == pytest.approx(X.std(axis=1), rel=1e-3)
    for is_sampling in (False, True):
        for end, squared in zip(root.ends(0.9, is_sampling), square.ends(0.9, is_sampling), strict=True):
            assert end**2 == pytest.approx(squared)
    assert root.sampled is not None and square.sampled is not None
    assert root.sampled == pytest.approx(square.sampled / (4 * square.values))
