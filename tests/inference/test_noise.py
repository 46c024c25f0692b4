"""Tabulated noise: known quantiles, brute-force sums, tails that keep their precision."""

import numpy as np
import pytest

from dalenius.errors import ParameterError
from dalenius.inference.noise import Noise, _convolve


@pytest.mark.parametrize(
    ("epsilon", "at_95", "at_99"), [("0.1", 30, 46), ("0.5", 6, 9), ("1", 3, 4), ("2", 1, 2)]
)
def test_half_widths_of_the_discrete_laplace(laplace, epsilon, at_95, at_99) -> None:
    noise = Noise.of(laplace(epsilon))
    assert (noise.half_width(0.95), noise.half_width(0.99)) == (at_95, at_99)


def test_moments_and_tails(laplace) -> None:
    noise = Noise.of(laplace("1"))
    assert noise.variance == pytest.approx(1.841347188, abs=1e-8)
    assert noise.mean == pytest.approx(0, abs=1e-12)
    assert noise.upper_tail(20) == pytest.approx(np.exp(-20) / (1 + np.exp(-1)), rel=1e-5)
    assert noise.cdf(-20) == pytest.approx(noise.upper_tail(20), rel=1e-9)
    assert noise.cdf(3) - noise.cdf(-4) == pytest.approx(0.973220390, abs=1e-9)


def test_sum_and_difference_against_enumeration() -> None:
    left, right = Noise(-1, np.array([0.2, 0.5, 0.3])), Noise(0, np.array([0.9, 0.1]))
    expected = dict.fromkeys(range(-2, 3), 0.0)
    for i, p in zip(left.points, left.pmf, strict=True):
        for j, q in zip(right.points, right.pmf, strict=True):
            expected[int(i - j)] += p * q
    found = left.plus(right.reflected())
    assert {int(k): float(p) for k, p in zip(found.points, found.pmf, strict=True)} == pytest.approx(
        {k: p for k, p in expected.items() if p}
    )
    three = left.times(3)
    assert three.mean == pytest.approx(3 * left.mean)
    assert three.variance == pytest.approx(3 * left.variance)
    assert three.pmf == pytest.approx(np.convolve(np.convolve(left.pmf, left.pmf), left.pmf))


def test_long_convolutions_agree_with_short_ones() -> None:
    pmf = np.exp(-np.abs(np.arange(-3000, 3001)) / 200.0)
    pmf /= pmf.sum()
    assert _convolve(pmf, pmf) == pytest.approx(np.convolve(pmf, pmf), abs=1e-14)


def test_refusals() -> None:
    with pytest.raises(ParameterError):
        Noise.none().half_width(1.0)
    with pytest.raises(ParameterError):
        Noise.none().times(0)
