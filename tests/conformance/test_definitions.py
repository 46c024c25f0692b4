"""Every definition the registry finds: monotone, the whole costs at least its parts, order does not matter."""

from fractions import Fraction
from itertools import permutations

import pytest

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DaleniusError, Unsupported
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction
AMOUNTS = {"epsilon": F(2), "delta": F(1, 10**4), "rho": F(1)}
ONE = Sensitivity.of_patterns(((1,),))


def steps(relation=Relation.ADD_REMOVE):
    laws = [DiscreteLaplace(F(1, 2)), DiscreteLaplace(F(1, 3)), DiscreteGaussian(F(30)), TruncatedLaplace(F(1, 4), 40)]
    return [law.profile(ONE, relation) for law in laws]


def every_definition():
    """Instances that are paid in the usual amounts and priced by profiles alone."""
    for name in registry.names("definitions"):
        found = registry.get("definitions", name)
        found = found() if isinstance(found, type) else found
        if set(found.amounts) <= set(AMOUNTS) and not found.scope.is_data_dependent:
            yield pytest.param(found, id=name)


def budget_of(definition, factor=1):
    return Budget(definition=definition.name, **{a: AMOUNTS[a] * factor for a in definition.amounts})


def accepted(definition):
    """The steps that the definition can price at all."""
    usable = []
    for step in steps():
        try:
            definition.fits([step], budget_of(definition))
        except DaleniusError:
            continue
        usable.append(step)
    return usable


@pytest.mark.parametrize("definition", list(every_definition()))
def test_it_prices_some_step_and_speaks(definition):
    assert accepted(definition)
    assert definition.evidence.references
    assert len(definition.sentence(budget_of(definition))) > 40


@pytest.mark.parametrize("definition", list(every_definition()))
def test_order_does_not_matter(definition):
    usable = accepted(definition)
    for factor in (F(1, 4), F(1, 2), F(1)):
        answers = {definition.fits(list(p), budget_of(definition, factor)) for p in permutations(usable)}
        assert len(answers) == 1
    assert len({definition.cost(list(p)) for p in permutations(usable)}) == 1


@pytest.mark.parametrize("definition", list(every_definition()))
def test_more_budget_fits_more_and_the_whole_costs_at_least_its_parts(definition):
    usable = accepted(definition)
    for count in range(1, len(usable) + 1):
        fits = [definition.fits(usable[:count], budget_of(definition, F(k, 8))) for k in range(1, 9)]
        assert fits == sorted(fits), "once it fits it must keep fitting"
        if count > 1:
            for k in range(1, 9):
                budget = budget_of(definition, F(k, 8))
                if definition.fits(usable[:count], budget):
                    assert definition.fits(usable[: count - 1], budget)
            whole, part = definition.cost(usable[:count]), definition.cost(usable[: count - 1])
            assert whole.rho >= part.rho and whole.delta >= part.delta


@pytest.mark.parametrize("definition", list(every_definition()))
def test_relations_are_never_mixed(definition):
    mixed = [accepted(definition)[0], DiscreteLaplace(F(1, 2)).profile(ONE, Relation.REPLACE)]
    with pytest.raises(Unsupported):
        definition.fits(mixed, budget_of(definition))
    with pytest.raises(Unsupported):
        definition.cost(mixed)
