"""Covariance over the number of rows less one."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.intervals import estimate
from dalenius.core.domain import Bounds
from dalenius.estimators.covariance import COVARIANCE
from dalenius.testing.exact_sums import exact_sums

X = np.array([[0, 2, 3, 7, 8, 10], [5, 5, 6, 7, 9, 40]], dtype=float)
Y = np.array([[1, 2, 2, 6, 9, 9], [8, 3, 5, 2, 1, 4]], dtype=float)


def test_it_is_the_textbooks_covariance() -> None:
    made = estimate(COVARIANCE, exact_sums(COVARIANCE, {"x": X, "y": Y}))
    assert made.values == pytest.approx([np.cov(x, y)[0, 1] for x, y in zip(X, Y, strict=True)])


def test_its_error_of_sampling_is_that_of_products_of_deviations() -> None:
    made = estimate(COVARIANCE, exact_sums(COVARIANCE, {"x": X, "y": Y}, copies=1000))
    products = (X - X.mean(axis=1)[:, None]) * (Y - Y.mean(axis=1)[:, None])
    assert made.sampled == pytest.approx(products.var(axis=1) / 6000, rel=1e-3)


def test_rows_at_both_corners_reach_the_limits() -> None:
    bounds = {"x": Bounds(lower=Fraction(0), upper=Fraction(9)), "y": Bounds(lower=Fraction(1), upper=Fraction(2))}
    largest = np.cov([0, 9], [1, 2])[0, 1]
    assert COVARIANCE.limits(bounds) == (-largest, largest)
