"""Ratio of two totals about zero."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.algebra.intervals import estimate
from dalenius.core.domain import Bounds
from dalenius.estimators.ratio import RATIO
from dalenius.testing.exact_sums import exact_sums

X = np.array([[0, 2, 3, 7, 8, 10], [5, 5, 6, 7, 9, 40]], dtype=float)
Y = np.array([[1, 2, 2, 6, 9, 9], [8, 3, 5, 2, 1, 4]], dtype=float)


def test_it_is_the_ratio_of_totals_with_the_linearised_error() -> None:
    made = estimate(RATIO, exact_sums(RATIO, {"x": X, "y": Y}))
    ratio = X.sum(axis=1) / Y.sum(axis=1)
    assert made.values == pytest.approx(ratio)
    squares = ((X - ratio[:, None] * Y) ** 2).sum(axis=1)
    assert made.sampled == pytest.approx(squares / Y.sum(axis=1) ** 2)


def test_it_is_never_negative_where_what_is_above_is_not() -> None:
    bounds = {"x": Bounds(lower=Fraction(0), upper=Fraction(9)), "y": Bounds(lower=Fraction(1), upper=Fraction(2))}
    assert RATIO.limits(bounds) == (0, "inf")
    assert RATIO.limits(bounds | {"x": Bounds(lower=Fraction(-1), upper=Fraction(9))}) == ("-inf", "inf")
