"""Zero-concentrated differential privacy: rhos add, failures need a delta."""

from fractions import Fraction

import pytest

from dalenius.core.budget import Budget
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity
from dalenius.definitions.zero_concentrated import ZeroConcentrated
from dalenius.errors import ParameterError, Unsupported
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction
ONE = Sensitivity.of_patterns(((1,),))
AR = Relation.ADD_REMOVE


def test_rhos_add():
    step = PrivacyProfile(relation=AR, rho=F(1, 4))
    assert ZeroConcentrated().fits([step, step], Budget.of("zero_concentrated", rho="0.5"))
    assert not ZeroConcentrated().fits([step, step], Budget.of("zero_concentrated", rho="0.499"))
    assert ZeroConcentrated().cost([step, step]).rho == F(1, 2)


def test_a_pure_step_is_read_tightly():
    step = DiscreteLaplace(F(1)).profile(ONE, AR)
    assert ZeroConcentrated().fits([step], Budget.of("zero_concentrated", rho="0.46212"))
    assert not ZeroConcentrated().fits([step], Budget.of("zero_concentrated", rho="0.4621"))


def test_failures_need_a_delta():
    step = TruncatedLaplace(F(1), 20).profile(ONE, AR)
    with pytest.raises(Unsupported):
        ZeroConcentrated().fits([step], Budget.of("zero_concentrated", rho=1))
    assert ZeroConcentrated().fits([step], Budget.of("zero_concentrated", rho=1, delta="1e-6"))
    assert not ZeroConcentrated().fits([step], Budget.of("zero_concentrated", rho=1, delta="1e-10"))


def test_refusals_and_words():
    with pytest.raises(ParameterError):
        ZeroConcentrated().fits([], Budget.of("zero_concentrated", epsilon=1))
    assert "exp(5.222)" in ZeroConcentrated().sentence(Budget.of("zero_concentrated", rho="0.5"))
