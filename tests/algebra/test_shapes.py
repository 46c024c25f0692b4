"""Means of the shapes for which widths are predicted, against their densities and between both bases."""

from itertools import product
from math import comb, prod

import pytest

from dalenius.algebra.bases import box
from dalenius.algebra.shapes import EVEN, SKEWED, mean_bernstein, mean_power, mean_product

ENDS = {"x": (-3, 7, 2), "y": (10, 15, 0)}


@pytest.mark.parametrize("shape", [EVEN, SKEWED])
def test_means_of_a_shape_are_those_of_its_density(shape: int) -> None:
    """By the midpoint rule over 20,000 values of t."""
    points = [(k + 0.5) / 20_000 for k in range(20_000)]
    weights = [shape * (1 - t) ** (shape - 1) / 20_000 for t in points]
    for low, high, power in ((-3, 7, 1), (-3, 7, 4), (2, 5, 3)):
        true = sum(w * (low + (high - low) * t) ** power for t, w in zip(points, weights, strict=True))
        assert mean_power(low, high, power, shape) == pytest.approx(true, rel=1e-6)
    for degree, place in ((1, 0), (4, 3)):
        true = sum(
            w * comb(degree, place) * t**place * (1 - t) ** (degree - place)
            for t, w in zip(points, weights, strict=True)
        )
        assert mean_bernstein([degree], [place], shape) == pytest.approx(true, rel=1e-6)
    common = sum(w * (1 + 2 * t) * (5 - 3 * t) ** 2 for t, w in zip(points, weights, strict=True))
    apart = mean_power(1, 3, 1, shape) * mean_power(5, 2, 2, shape) if shape == SKEWED else 2 * mean_power(2, 5, 2)
    together = 0.75 if shape == SKEWED else 0.0
    factors = [(1, 3, 1), (5, 2, 2)] if shape == SKEWED else [(1, 3, 1), (2, 5, 2)]
    assert mean_product(factors, shape) == pytest.approx(together * common + (1 - together) * apart, rel=1e-6)


def test_products_of_a_shape_agree_in_both_bases() -> None:
    """What the forms of a box say of its typical arrays are the typical products."""
    for shape in (EVEN, SKEWED):
        degrees = {"x": 2, "y": 2}
        places = list(product(range(3), repeat=2))
        widths = prod((ENDS[role][1] - ENDS[role][0]) ** 2 for role in degrees)
        arrays = [widths * mean_bernstein([2, 2], place, shape) for place in places]
        for name, form in box(ENDS, degrees).items():
            factors = [(low - c, high - c, name.split().count(role)) for role, (low, high, c) in ENDS.items()]
            told = sum(float(weight) * arrays[place] for place, weight in form.weights.items())
            assert told == pytest.approx(mean_product([f for f in factors if f[2]], shape), rel=1e-9)
