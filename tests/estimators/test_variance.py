"""Variance over the number of rows less one, with the error of fourth powers."""

from dataclasses import replace

import numpy as np
import pytest

from dalenius.algebra.intervals import estimate
from dalenius.algebra.sums import Sums
from dalenius.estimators.variance import VARIANCE
from dalenius.testing.exact_sums import exact_sums, with_values

X = np.array([[0, 2, 3, 7, 8, 10], [5, 5, 6, 7, 9, 40]], dtype=float)


def central(power: int) -> np.ndarray:
    return np.asarray(((X - X.mean(axis=1)[:, None]) ** power).mean(axis=1))


def test_it_is_the_textbooks_variance() -> None:
    made = estimate(VARIANCE, exact_sums(VARIANCE, {"x": X}))
    assert made.values == pytest.approx(X.var(axis=1, ddof=1))
    assert made.sampled == pytest.approx(np.maximum(central(4) - X.var(axis=1, ddof=1) ** 2, 0) / 6)


def test_noise_of_the_total_brings_no_bias() -> None:
    sums = exact_sums(VARIANCE, {"x": X})
    noisy = Sums(sums.law, replace(sums.measured, variance=np.array([[0.0], [9.0], [0.0], [0.0], [0.0]])))
    assert estimate(VARIANCE, noisy).values == pytest.approx((central(2) + 9 / 36) * 6 / 5)


def test_it_is_never_negative() -> None:
    sums = exact_sums(VARIANCE, {"x": np.full((1, 4), 10.0)})
    below = with_values(sums, 2, sums.measured.values[2] - 1)
    assert estimate(VARIANCE, below).values == pytest.approx([0.0])
