"""gamma-accuracy: the probability of Theorem 4 is (1 - gamma/k)^k, at least 1 - gamma, not gamma."""

from fractions import Fraction
from math import exp, tanh

import numpy as np
import pytest

from dalenius.errors import ParameterError
from dalenius.exact.accuracy import coverage, expected_error, gain, half_width


@pytest.mark.parametrize("answers", [1, 9, 1000])
@pytest.mark.parametrize("gamma", [0.01, 0.05, 0.5])
def test_exact_probability(answers, gamma):
    width = half_width(answers, gamma, 3.0, 0.5)
    inside = (1 - exp(-width * 0.5 / 3.0)) ** answers
    assert inside == pytest.approx(coverage(answers, gamma), rel=1e-12)
    assert inside >= 1 - gamma - 1e-12


@pytest.mark.statistical
def test_by_simulation():
    """20,000 tables of 9 cells at a fixed seed; five standard errors."""
    noise = np.random.default_rng(9).laplace(scale=2.0, size=(20_000, 9))
    inside = (np.abs(noise).max(axis=1) <= half_width(9, 0.05, 2.0, 1.0)).mean()
    assert abs(inside - coverage(9, 0.05)) < 5 * (0.05 * 0.95 / 20_000) ** 0.5


def test_gain_is_the_ratio_of_sensitivities():
    assert gain(17_610, 305) == Fraction(17_610, 305)
    ratio = half_width(9, 0.1, 17_610, 1.0) / half_width(9, 0.1, 305, 1.0)
    assert ratio == pytest.approx(float(gain(17_610, 305)))
    with pytest.raises(ParameterError):
        gain(1, 0)


def test_expected_error_of_discrete_laplace():
    for scale in (Fraction(1, 2), Fraction(3)):
        rate = 1 / float(scale)
        direct = sum(abs(k) * tanh(rate / 2) * exp(-rate * abs(k)) for k in range(-400, 401))
        assert expected_error(scale) == pytest.approx(direct, rel=1e-9)
