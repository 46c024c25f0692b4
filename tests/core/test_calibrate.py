"""Calibration: what it returns fits, a little less noise does not, and what cannot fit is refused."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.budget import Budget
from dalenius.core.calibrate import PRECISION_BITS, calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.approximate import Approximate
from dalenius.definitions.pure import Pure
from dalenius.definitions.zero_concentrated import ZeroConcentrated
from dalenius.errors import ParameterError, Unsupported
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction
AR = Relation.ADD_REMOVE
ONE = Sensitivity.of_patterns(((1,),))
SLACK = 1 + F(2, 1 << PRECISION_BITS)


@given(st.fractions(F(1, 100), 10), st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_pure_laplace_is_the_closed_form(epsilon, cells):
    sensitivity = Sensitivity.of_patterns(((1,) * cells,))
    made = calibrate(DiscreteLaplace, sensitivity, AR, Pure(), Budget.of("pure", epsilon=epsilon))
    assert made.rate == epsilon / cells


@given(st.fractions(F(1, 50), 4), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_laplace_under_rho_fits_and_no_more_would(rho, shift):
    sensitivity, budget = Sensitivity.of_patterns(((shift,),)), Budget.of("zero_concentrated", rho=rho)
    made = calibrate(DiscreteLaplace, sensitivity, AR, ZeroConcentrated(), budget)
    assert ZeroConcentrated().fits([made.profile(sensitivity, AR)], budget)
    less = DiscreteLaplace(made.rate * SLACK)
    assert not ZeroConcentrated().fits([less.profile(sensitivity, AR)], budget)


@pytest.mark.parametrize("mechanism", [DiscreteLaplace, DiscreteGaussian, TruncatedLaplace])
@pytest.mark.parametrize("patterns", [((1,),), ((1, 1),), ((1,) * 12,)])
def test_approximate_fits_exactly(mechanism, patterns):
    sensitivity, budget = (Sensitivity.of_patterns(patterns), Budget.of("approximate", epsilon="1/2", delta="1e-5"))
    made = calibrate(mechanism, sensitivity, AR, Approximate(), budget)
    assert made.profile(sensitivity, AR).delta_at(F(1, 2)) <= F(1, 10**5)


def test_parameters_stay_short():
    budget = Budget.of("approximate", epsilon=1, delta="1e-6")
    made = calibrate(DiscreteGaussian, ONE, AR, Approximate(), budget)
    assert max(made.sigma_squared.numerator, made.sigma_squared.denominator) < 10**12


def test_a_total_with_a_large_sensitivity():
    sensitivity = Sensitivity.of_patterns(((200_000,),))
    made = calibrate(
        DiscreteGaussian, sensitivity, AR, Approximate(), Budget.of("approximate", epsilon=1, delta="1e-6")
    )
    assert 4.2246 < float(made.sigma_squared) ** 0.5 / 200_000 < 4.24


def test_refusals():
    with pytest.raises(Unsupported):
        calibrate(DiscreteGaussian, ONE, AR, Pure(), Budget.of("pure", epsilon=1))
    with pytest.raises(Unsupported):
        calibrate(TruncatedLaplace, ONE, AR, Pure(), Budget.of("pure", epsilon=1))
    with pytest.raises(ParameterError):
        calibrate(DiscreteLaplace, ONE, AR, Approximate(), Budget.of("approximate", epsilon=1))
    with pytest.raises(Unsupported):
        calibrate(DiscreteLaplace, Sensitivity.of_patterns(((),)), AR, Pure(), Budget.of("pure", epsilon=1))
