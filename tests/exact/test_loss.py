"""Loss distributions against direct summation and published compositions."""

from fractions import Fraction

import numpy as np
import pytest
from tests.audit.exact_losses import hockey_stick, product_hockey_stick

from dalenius.core.profile import Shift
from dalenius.exact import loss
from dalenius.exact.additive import product_delta
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction
TINY = F(1, 2**80)
LAWS = [
    DiscreteLaplace(F(1, 2)),
    DiscreteLaplace(F(7, 5)),
    TruncatedLaplace(F(1, 2), 9),
    DiscreteGaussian(F(25, 3)),
    DiscreteGaussian(F(1, 4)),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("shift", [1, 3, -2])
@pytest.mark.parametrize("epsilon", [F(0), F(1, 3), F(3, 2), F(4)])
def test_one_cell_equals_direct_summation(law, shift, epsilon):
    low, high = hockey_stick(law, shift, epsilon)
    found = loss.of_shift(law, shift).delta(epsilon)
    assert low <= found <= high + TINY


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(F(3, 2)), TruncatedLaplace(F(1, 2), 9), DiscreteGaussian(F(2))], ids=repr
)
@pytest.mark.parametrize("shifts", [(1, 1), (2, 1)])
@pytest.mark.parametrize("epsilon", [F(1, 3), F(1), F(2)])
def test_two_cells_equal_enumeration(law, shifts, epsilon):
    low, high = product_hockey_stick(law, shifts, epsilon, bits=64)
    product = tuple(Shift(law, s) for s in shifts)
    found = product_delta((product,), epsilon)
    assert low - F(1, 2**50) <= found <= high + F(1, 2**50)


def smallest_epsilon(distribution, delta):
    low, high = F(0), F(20)
    while high - low > F(1, 10**8):
        middle = (low + high) / 2
        low, high = (low, middle) if distribution.delta(middle) <= delta else (middle, high)
    return float(high)


def test_fifty_steps_of_a_tenth():
    # Optimal composition of 50 pure steps of 0.1 at delta = 1e-6, and the discrete Laplace's own, agree: 3.172903.
    delta = F(1, 10**6)
    assert smallest_epsilon(loss.of_statement(F(1, 10)).times(50), delta) == pytest.approx(3.172903, abs=2e-6)
    noise = loss.of_shift(DiscreteLaplace(F(1, 10)), 1).times(50)
    assert smallest_epsilon(noise, delta) == pytest.approx(3.172903, abs=2e-6)


def test_gaussian_of_sigma_three():
    found = smallest_epsilon(loss.of_shift(DiscreteGaussian(F(9)), 1), F(1, 10**6))
    assert found == pytest.approx(1.45493, abs=2e-5)


def test_a_wide_gaussian_is_dominated_closely():
    # At this width the loss is bounded by ranges; the continuous curve is the truth to many digits.
    from scipy.stats import norm

    wide = DiscreteGaussian(F(1100**2))
    mu, epsilon = 250 / 1100, 0.8
    true = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    found = float(loss.of_shift(wide, 250).delta(F(4, 5)))
    assert true <= found <= true * 1.05


def test_mixed_units_only_over_report():
    a, b = DiscreteLaplace(F(1, 3)), DiscreteGaussian(F(7, 2))
    together = loss.of_shift(a, 1).beside(loss.of_shift(b, 1))
    x = np.arange(-60, 61)
    pa, qa = np.exp(a.log_pmf(x)), np.exp(a.log_pmf(x - 1))
    pb, qb = np.exp(b.log_pmf(x)), np.exp(b.log_pmf(x - 1))
    true = np.maximum(np.outer(pa, pb) - np.exp(0.7) * np.outer(qa, qb), 0).sum()
    assert true <= float(together.delta(F(7, 10))) * (1 + 1e-12) <= true * 1.01
