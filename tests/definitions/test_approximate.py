"""Approximate differential privacy: exact for one step, sums of loss distributions for several."""

from fractions import Fraction

import pytest
from tests.audit.exact_losses import product_hockey_stick

from dalenius.core.budget import Budget
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.approximate import Approximate
from dalenius.errors import ParameterError, Unsupported
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction
ONE = Sensitivity.of_patterns(((1,),))
AR = Relation.ADD_REMOVE


def test_fifty_small_steps_compose_optimally():
    steps = [DiscreteLaplace(F(1, 10)).profile(ONE, AR)] * 50
    assert Approximate().fits(steps, Budget.of("approximate", epsilon="3.17291", delta="1e-6"))
    assert not Approximate().fits(steps, Budget.of("approximate", epsilon="3.1728", delta="1e-6"))
    bare = [PrivacyProfile(relation=AR, epsilon=F(1, 10))] * 50
    assert Approximate().fits(bare, Budget.of("approximate", epsilon="3.17291", delta="1e-6"))


def test_two_gaussians_equal_enumeration():
    law = DiscreteGaussian(F(18))
    low, high = product_hockey_stick(law, (1, 1), F(1), bits=64)
    found = Approximate().delta([law.profile(ONE, AR)] * 2, F(1))
    assert low - F(1, 2**50) <= found <= high + F(1, 2**50)


def test_failures_add_up():
    law = TruncatedLaplace(F(1, 2), 20)
    p = law.profile(ONE, AR).delta
    both = Approximate().delta([law.profile(ONE, AR)] * 2, F(1))
    assert float(both) == pytest.approx(float(p * (2 - p)), rel=1e-9)


def test_steps_with_rho_alone_are_converted():
    step = PrivacyProfile(relation=AR, rho=F(1, 20))
    delta = Approximate().delta([step, step], F(2))
    assert float(delta) == pytest.approx(4.325211e-6, rel=1e-6)


def test_refusals():
    step = DiscreteLaplace(F(1)).profile(ONE, AR)
    with pytest.raises(ParameterError):
        Approximate().fits([step], Budget.of("approximate", epsilon=1))
    with pytest.raises(Unsupported):
        Approximate().fits(
            [step, DiscreteLaplace(F(1)).profile(ONE, Relation.REPLACE)],
            Budget.of("approximate", epsilon=1, delta="1e-6"),
        )
    assert "1e-06" not in Approximate().sentence(Budget.of("approximate", epsilon=1, delta="1e-6"))
