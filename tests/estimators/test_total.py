"""Total about zero, of degree one: its error of sampling is that of rows that come or stay away."""

import numpy as np
import pytest

from dalenius.algebra.intervals import estimate
from dalenius.estimators.total import TOTAL
from dalenius.testing.exact_sums import exact_sums

X = np.array([[0, 2, 3, 7, 8, 10], [5, 5, 6, 7, 9, 40]], dtype=float)


def test_it_is_the_total_and_its_error_that_of_squares_about_zero() -> None:
    made = estimate(TOTAL, exact_sums(TOTAL, {"x": X}))
    assert made.values == pytest.approx(X.sum(axis=1))
    assert made.sampled == pytest.approx((X**2).sum(axis=1))


def test_twice_the_rows_have_twice_the_total() -> None:
    assert TOTAL.degree == 1
    made = estimate(TOTAL, exact_sums(TOTAL, {"x": X}, copies=2))
    assert made.values == pytest.approx(2 * X.sum(axis=1))
