"""Correlation: covariance over the root of both variances, on Fisher's scale."""

import numpy as np
import pytest

from dalenius.algebra.intervals import estimate
from dalenius.estimators.correlation import CORRELATION
from dalenius.testing.exact_sums import exact_sums, with_values

X = np.array([[0, 2, 3, 7, 8, 10], [5, 5, 6, 7, 9, 40]], dtype=float)
Y = np.array([[1, 2, 2, 6, 9, 9], [8, 3, 5, 2, 1, 4]], dtype=float)


def test_it_is_the_textbooks_correlation() -> None:
    made = estimate(CORRELATION, exact_sums(CORRELATION, {"x": X, "y": Y}))
    assert made.values == pytest.approx([np.corrcoef(x, y)[0, 1] for x, y in zip(X, Y, strict=True)])


def test_its_error_of_sampling_is_that_of_its_influence() -> None:
    made = estimate(CORRELATION, exact_sums(CORRELATION, {"x": X, "y": Y}, copies=1000))
    u, v = ((each - each.mean(axis=1)[:, None]) / each.std(axis=1)[:, None] for each in (X, Y))
    moved = u * v - made.values[:, None] * (u**2 + v**2) / 2
    assert made.sampled == pytest.approx((moved**2).mean(axis=1) / 6000, rel=1e-3)


def test_a_variance_that_is_not_clear_of_its_noise_leaves_everything_possible() -> None:
    sums = exact_sums(CORRELATION, {"x": X, "y": Y})
    squares = list(sums.law.sums).index("x x")
    noisy = with_values(sums, squares, sums.measured.values[squares], deviation=1000.0)
    lower, upper = estimate(CORRELATION, noisy).ends(0.95, False)
    assert lower.tolist() == [-1, -1] and upper.tolist() == [1, 1]
