"""Conversions against published and independently computed numbers; each is rounded up and never by much."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core import conversions as c

F = Fraction


@pytest.mark.parametrize("epsilon,rho", [("0.5", 0.122459), ("1", 0.462117), ("2", 1.523188)])
def test_pure_to_rho(epsilon, rho):
    assert float(c.pure_to_rho(F(epsilon))) == pytest.approx(rho, abs=6e-7)


@pytest.mark.parametrize(
    "epsilon,shift,rho", [(1, 1, 0.462117), (1, 2, 0.393469), (1, 5, 0.372074), ("0.5", 2, 0.110600)]
)
def test_discrete_laplace_to_rho(epsilon, shift, rho):
    assert float(c.discrete_laplace_to_rho(F(epsilon) / shift, shift)) == pytest.approx(rho, abs=6e-7)


@pytest.mark.parametrize("shift", [1, 2, 5])
def test_discrete_laplace_rho_bounds_every_order_and_is_tight(shift):
    rate = 1 / shift
    x = np.arange(-400, 401)
    log_p = -rate * np.abs(x) + log(np.tanh(rate / 2))
    log_q = -rate * np.abs(x - shift) + log(np.tanh(rate / 2))
    rho = float(c.discrete_laplace_to_rho(F(1, shift), shift))
    for order in (1.0001, 1.5, 2, 5, 30):
        divergence = log(np.exp(order * log_p + (1 - order) * log_q).sum()) / (order - 1)
        assert divergence <= order * rho * (1 + 1e-9)
    assert (np.exp(log_p) * (log_p - log_q)).sum() == pytest.approx(rho, rel=1e-9)


@given(st.fractions(F(1, 1000), 3), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_rho_of_cells_adds_up_to_at_most_the_whole_distance(rate, s, t):
    assert c.discrete_laplace_to_rho(rate, s) + c.discrete_laplace_to_rho(rate, t) <= c.discrete_laplace_to_rho(
        rate, s + t
    ) + F(3, 10**20)


@pytest.mark.parametrize(
    "rho,delta,epsilon",
    [
        ("0.01", "1e-6", 0.621693),
        ("0.1", "1e-6", 2.141939),
        ("0.5", "1e-6", 5.221534),
        ("1", "1e-6", 7.766217),
        ("0.1", "1e-9", 2.715482),
    ],
)
def test_rho_to_epsilon(rho, delta, epsilon):
    found = float(c.rho_to_epsilon(F(rho), F(delta)))
    assert found == pytest.approx(epsilon, abs=2e-6)


def test_rho_to_delta():
    assert float(c.rho_to_delta(F(1, 10), F(2))) == pytest.approx(4.325211e-6, rel=1e-6)
    assert c.rho_to_delta(F(0), F(1)) == 0


def test_pure_to_delta_is_randomised_response():
    e = exp(1)
    assert float(c.pure_to_delta(F(1), F(1, 2))) == pytest.approx((e - exp(0.5)) / (1 + e), rel=1e-12)
    assert c.pure_to_delta(F(1), F(1)) == 0
    assert float(c.pure_to_delta(F(900), F(1))) == pytest.approx(1)


def test_gaussian_privacy():
    assert c.gaussian_to_delta(1.0, 4.886554) == pytest.approx(1e-6, rel=1e-5)
    assert c.gaussian_to_delta(1.0, 0.0) == pytest.approx(0.3829249225480263, rel=1e-9)


@given(st.fractions(F(1, 100), 5), st.fractions(F(1, 100), 5))
@settings(max_examples=60, deadline=None)
def test_conversions_are_monotone(a, b):
    low, high = sorted((a, b))
    assert c.pure_to_rho(low) <= c.pure_to_rho(high)
    assert c.rho_to_delta(low, F(1)) <= c.rho_to_delta(high, F(1)) * (1 + F(1, 10**6))


def test_a_delta_far_below_the_grid_is_one_step_of_it_at_any_epsilon() -> None:
    """Rounded up to 1e-40, without the millions of digits that an exact exponential would take."""
    for rho, epsilon in ((Fraction(1, 10), 30), (Fraction(1, 10**6), 1), (Fraction(1, 10**9), 10**6)):
        assert c.rho_to_delta(rho, Fraction(epsilon)) == Fraction(1, 10**40)
    assert float(c.rho_to_delta(Fraction(1, 2), Fraction(3))) == pytest.approx(0.005143184, rel=1e-6)
