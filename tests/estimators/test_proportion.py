"""Share of rows with a property: here, of rows in the lower half of the bounds."""

import numpy as np
import pytest

from dalenius.algebra.intervals import estimate
from dalenius.estimators.proportion import PROPORTION
from dalenius.testing.exact_sums import exact_sums

X = np.array([[0, 2, 33, 37, 38, 40], [5, 5, 6, 7, 9, 40]], dtype=float)


def test_it_is_the_share_with_wilsons_interval() -> None:
    made = estimate(PROPORTION, exact_sums(PROPORTION, {"x": X}, copies=50))
    share = (X <= 29).mean(axis=1)
    assert made.values == pytest.approx(share)
    lower, upper = made.ends(0.95, True)
    for theta in (lower, upper):
        # Student's quantile at 299 degrees of freedom.
        distance = np.sqrt(300 * (share - theta) ** 2 / (theta * (1 - theta)))
        assert distance == pytest.approx(1.96793, rel=1e-4)
