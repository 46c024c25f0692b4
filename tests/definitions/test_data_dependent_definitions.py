"""Bootstrap, individual and probabilistic definitions: what they cost, what they say, what they refuse."""

from fractions import Fraction
from math import exp

import pytest

from dalenius.core.budget import Budget
from dalenius.core.neighbours import Relation, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.definitions.bootstrap import Bootstrap
from dalenius.definitions.individual import Individual
from dalenius.definitions.probabilistic import Probabilistic
from dalenius.errors import ParameterError, Unsupported
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

F = Fraction


def pure(epsilon, relation=Relation.REPLACE):
    return PrivacyProfile(relation=relation, epsilon=F(epsilon))


def normal(rho, relation=Relation.REPLACE):
    return PrivacyProfile(relation=relation, rho=F(rho))


@pytest.mark.parametrize("definition", [Bootstrap(), Individual()], ids=lambda d: d.name)
def test_sequences_add(definition):
    steps = [pure("1/3"), pure("2/3")]
    assert definition.fits(steps, Budget.of(definition.name, epsilon=1))
    assert not definition.fits([*steps, pure("1/100")], Budget.of(definition.name, epsilon=1))
    assert definition.cost(steps).epsilon == 1
    assert definition.fits([normal("1/10")] * 2, Budget.of(definition.name, rho="1/5"))
    assert not definition.fits([normal("1/10")] * 3, Budget.of(definition.name, rho="1/5"))
    assert definition.fits([normal("1/10")], Budget.of(definition.name, epsilon="2.2", delta="1e-6"))
    assert not definition.fits([normal("1/10")], Budget.of(definition.name, epsilon="2.1", delta="1e-6"))
    with pytest.raises(Unsupported):
        definition.cost([pure(1), pure(1, Relation.ADD_REMOVE)])


def test_they_are_closed_unless_opened_by_name():
    for definition in (Bootstrap(), Individual()):
        assert not definition.evidence.is_strong
        assert definition.account == "data-dependent"
        assert "epsilon = 1, delta = 0.5" in definition.sentence(Budget.of(definition.name, epsilon=1, delta="0.5"))
        assert any("Not protected:" in w for w in definition.warnings)
        assert any("spread" in w for w in definition.warnings)
    assert (Bootstrap.scope, Individual.scope) == (Scope.OBSERVED_ROWS, Scope.ACTUAL_DATA)


def test_probabilistic():
    definition = Probabilistic()
    budget = Budget.of("probabilistic", epsilon=1, delta="1e-6")
    assert definition.fits([pure(1)], budget)
    assert not definition.fits([pure("1.01")], budget)
    with pytest.raises(ParameterError):
        definition.fits([pure(1)], Budget.of("probabilistic", epsilon=1))
    assert "1/1000000" in definition.sentence(budget) or "0.000001" in definition.sentence(budget)


def test_probabilistic_tail_of_zero_concentrated_steps():
    definition = Probabilistic()
    rho, epsilon = F(1, 20), F(2)
    # Both sides of the loss: what lies below -epsilon is exp(-epsilon) times as likely at most.
    expected = exp(-float((epsilon - rho) ** 2 / (4 * rho))) * (1 + exp(-2))
    assert float(definition.failure([normal(rho)], epsilon)) == pytest.approx(expected)
    two = definition.failure([normal(rho / 2)] * 2, epsilon)
    assert float(two) == pytest.approx(expected)
    assert definition.failure([normal(rho), pure(1)], epsilon) > definition.failure([normal(rho)], epsilon)
    assert definition.failure([], epsilon) == 0


def test_probabilistic_covers_the_true_tail_of_a_curve():
    """Discrete Laplace at half its rate: losses are epsilon or less, and the bound never falls below the truth."""
    from dalenius.core.sensitivity import Sensitivity

    profile = DiscreteLaplace(F(1)).profile(Sensitivity.of_patterns(((1,),)), Relation.ADD_REMOVE)
    stripped = PrivacyProfile(relation=profile.relation, curve=profile.curve, rho=profile.rho)
    true_tail = 1 - 1 / (1 + exp(1.0))
    bound = Probabilistic().failure([stripped], F(9, 10))
    assert true_tail <= float(bound) <= 1
    assert float(Probabilistic().failure([stripped], F(3))) < 0.2
