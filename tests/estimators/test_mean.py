"""Mean: total over rows, Fieller's interval, and the textbook's error of sampling."""

from dataclasses import replace

import numpy as np
import pytest

from dalenius.algebra.intervals import estimate
from dalenius.algebra.sums import Sums
from dalenius.estimators.mean import MEAN
from dalenius.testing.exact_sums import exact_sums

X = np.array([[0, 2, 3, 7, 8, 10], [5, 5, 6, 7, 9, 40]], dtype=float)


def test_it_is_the_mean_about_the_centre() -> None:
    made = estimate(MEAN, exact_sums(MEAN, {"x": X}))
    assert made.values + 30 == pytest.approx(X.mean(axis=1))
    assert made.sampled == pytest.approx(X.var(axis=1, ddof=1) / 6)
    assert made.counts is not None and made.counts.values == pytest.approx([6, 6])


def test_noise_of_both_sums_is_in_its_interval() -> None:
    sums = exact_sums(MEAN, {"x": X})
    noisy = Sums(sums.law, replace(sums.measured, variance=np.array([[1.0], [4.0], [0.0]])))
    made = estimate(MEAN, noisy)
    lower, upper = made.ends(0.95, False)
    total, rows = (X - 30).sum(axis=1), 6
    for theta in (lower, upper):
        assert (total - theta * rows) ** 2 == pytest.approx(1.959964**2 * (4 + theta**2), rel=1e-5)


def test_below_one_row_there_is_no_number() -> None:
    sums = exact_sums(MEAN, {"x": X}, copies=0.1)
    assert np.isnan(estimate(MEAN, sums).values).all()
