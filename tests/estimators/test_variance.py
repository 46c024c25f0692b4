"""Variance over the number of rows less one, with the error of fourth powers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.estimate_law import LinearForm
from dalenius.algebra.intervals import estimate
from dalenius.algebra.sums import MeasuredArrays, Sums
from dalenius.estimators.variance import VARIANCE
from dalenius.testing.exact_sums import exact_sums, with_values

X = np.array([[0, 2, 3, 7, 8, 10], [5, 5, 6, 7, 9, 40]], dtype=float)


def central(power: int) -> np.ndarray:
    return np.asarray(((X - X.mean(axis=1)[:, None]) ** power).mean(axis=1))


def test_it_is_the_textbooks_variance() -> None:
    made = estimate(VARIANCE, exact_sums(VARIANCE, {"x": X}))
    assert made.values == pytest.approx(X.var(axis=1, ddof=1))
    assert made.sampled == pytest.approx(np.maximum(central(4) - X.var(axis=1, ddof=1) ** 2, 0) / 6)


@pytest.mark.parametrize("steps", [1, 20])
def test_weighted_rows_have_the_error_of_squared_weights(steps: int) -> None:
    """Each row moves the number by w ((x - mean)^2 - variance) over the sum of weights."""
    w, about = steps * np.array([[1, 1, 4, 2, 3, 1], [5, 1, 1, 2, 2, 1]], dtype=float), X - 30
    law = exact_sums(VARIANCE, {"x": X}).law
    names = ("1", "x", "x x", "x x x", "x x x x")
    forms = {name: LinearForm.array(place) for place, name in enumerate(names)}
    law = replace(
        law,
        sums={name: forms[name] for name in names[:3]},
        products={name: forms[name].moved(3) for name in names},
        weight=Fraction(1, steps),
    )
    values = [(w**k * about**p).sum(axis=1) for k, powers in ((1, 3), (2, 5)) for p in range(powers)]
    arrays = MeasuredArrays(np.array(values), np.zeros((8, 1)), np.zeros((8, 1)))
    made = estimate(VARIANCE, Sums(law, arrays))
    whole = w.sum(axis=1)
    mean = (w * X).sum(axis=1) / whole
    second = (w * (X - mean[:, None]) ** 2).sum(axis=1) / whole
    rows = whole**2 / (w**2).sum(axis=1)
    moved = w * ((X - mean[:, None]) ** 2 - second[:, None]) / whole[:, None]
    assert made.values == pytest.approx(second * rows / (rows - 1))
    assert made.sampled == pytest.approx((moved**2).sum(axis=1) * (rows / (rows - 1)) ** 2)


def test_noise_of_the_total_brings_no_bias() -> None:
    sums = exact_sums(VARIANCE, {"x": X})
    noisy = Sums(sums.law, replace(sums.measured, variance=np.array([[0.0], [9.0], [0.0], [0.0], [0.0]])))
    assert estimate(VARIANCE, noisy).values == pytest.approx((central(2) + 9 / 36) * 6 / 5)


def test_it_is_never_negative() -> None:
    sums = exact_sums(VARIANCE, {"x": np.full((1, 4), 10.0)})
    below = with_values(sums, 2, sums.measured.values[2] - 1)
    assert estimate(VARIANCE, below).values == pytest.approx([0.0])
