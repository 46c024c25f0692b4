"""Every mechanism the registry finds, through the same checks: to add a mechanism is to be tested here."""

import pytest
from tests.audit.exact_losses import product_hockey_stick

from dalenius.core import registry
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import TooLarge
from dalenius.testing import mechanism_kit
from dalenius.testing.mechanism_kit import EPSILONS, F, members

every_mechanism = pytest.mark.parametrize("name", registry.names("mechanisms"))
CHECKS = (
    mechanism_kit.check_members,
    mechanism_kit.check_weights,
    mechanism_kit.check_documents,
    mechanism_kit.check_loss,
    mechanism_kit.check_divergence,
    mechanism_kit.check_family,
    pytest.param(mechanism_kit.check_sampler, marks=pytest.mark.statistical),
)


@every_mechanism
@pytest.mark.parametrize("check", CHECKS)
def test_a_mechanism_is_what_it_says(check, name):
    check(registry.get("mechanisms", name))


@pytest.mark.parametrize("definition", registry.names("definitions"))
@every_mechanism
def test_every_definition_prices_or_refuses(name, definition):
    mechanism_kit.check_definition(registry.get("mechanisms", name), definition)


@every_mechanism
def test_the_claim_is_at_least_the_exact_loss(name):
    """As the kit, in whole numbers: forty-eight bits leave an error of some thousand units in the last place."""
    checked = 0
    for member, patterns, budget in members(registry.get("mechanisms", name)):
        profile = member.profile(Sensitivity.of_patterns(patterns), Relation.REPLACE)
        for pattern in patterns:
            for epsilon in {*EPSILONS, budget.epsilon or F(1)}:
                try:
                    low, high = product_hockey_stick(member, pattern, epsilon, bits=48)
                except TooLarge:
                    continue
                checked += 1
                assert profile.delta_at(epsilon) >= low - F(1, 2**34)
                delta = mechanism_kit.loss(member, pattern, epsilon)
                assert delta is None or low - F(1, 2**34) <= delta <= high + F(1, 2**34)
    assert checked, "every product was too large for the exact check"


@pytest.mark.parametrize("name", ["discrete_laplace", "truncated_laplace"])
def test_the_claim_is_tight(name):
    for member, patterns, _ in members(registry.get("mechanisms", name)):
        profile = member.profile(Sensitivity.of_patterns(patterns), Relation.ADD_REMOVE)
        for epsilon in EPSILONS:
            try:
                worst = max(product_hockey_stick(member, p, epsilon, bits=48)[1] for p in patterns)
            except TooLarge:
                continue
            assert profile.delta_at(epsilon) <= worst + F(1, 2**34)
