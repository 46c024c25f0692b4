"""The kit that every definition must pass: monotone, the whole costs at least its parts, order does not matter, and
what it claims of a budget is not less than what fits it.
"""

from fractions import Fraction
from itertools import permutations, product
from typing import Any

from dalenius.core.budget import Budget
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DaleniusError, Unsupported
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction
AMOUNTS = {"epsilon": F(2), "delta": F(1, 10**4), "rho": F(1)}
_ROUNDED = F(1, 10**12)
ONE = Sensitivity.of_patterns(((1,),))
LAWS = (DiscreteLaplace(F(1, 2)), DiscreteLaplace(F(1, 3)), DiscreteGaussian(F(30)), TruncatedLaplace(F(1, 4), 40))


def check(kind: Any) -> int:
    """Everything about one definition; returns how many steps it prices."""
    definition = kind()
    assert is_judged(definition), f"{definition.name} is paid in amounts of its own, or follows the data"
    usable = accepted(definition)
    assert usable, f"{definition.name} prices no step"
    assert definition.evidence.references, f"the evidence of {definition.name} has no reference"
    assert len(definition.sentence(budget_of(definition))) > 40, f"{definition.name} states no guarantee"
    check_order(definition, usable)
    check_growth(definition, usable)
    check_relations(definition, usable)
    check_claim(definition, usable)
    return len(usable)


def is_judged(definition: Any) -> bool:
    """Whether it is paid in the usual amounts and priced by profiles alone."""
    return set(definition.amounts) <= set(AMOUNTS) and not definition.scope.is_data_dependent


def budget_of(definition: Any, factor: Fraction | int = 1) -> Budget:
    amounts: dict[str, Any] = {amount: AMOUNTS[amount] * factor for amount in definition.amounts}
    return Budget(definition=definition.name, **amounts)


def accepted(definition: Any) -> list[PrivacyProfile]:
    """The steps that the definition can price at all."""
    usable = []
    for step in (law.profile(ONE, Relation.ADD_REMOVE) for law in LAWS):
        try:
            definition.fits([step], budget_of(definition))
        except DaleniusError:
            continue
        usable.append(step)
    return usable


def check_order(definition: Any, usable: list[PrivacyProfile]) -> None:
    """The order of steps changes neither what fits nor what it costs."""
    for factor in (F(1, 4), F(1, 2), F(1)):
        verdicts = {definition.fits(list(p), budget_of(definition, factor)) for p in permutations(usable)}
        assert len(verdicts) == 1, f"{definition.name} judges by the order of steps"
    costs = {definition.cost(list(p)) for p in permutations(usable)}
    assert len(costs) == 1, f"{definition.name} charges by the order of steps"


def check_growth(definition: Any, usable: list[PrivacyProfile]) -> None:
    """More budget fits more, and the whole costs at least its parts."""
    for count in range(1, len(usable) + 1):
        budgets = [budget_of(definition, F(k, 8)) for k in range(1, 9)]
        fits = [definition.fits(usable[:count], budget) for budget in budgets]
        assert fits == sorted(fits), "once it fits it must keep fitting"
        if count > 1:
            parts = [definition.fits(usable[: count - 1], budget) for budget in budgets]
            assert all(part >= whole for part, whole in zip(parts, fits, strict=True)), "a part does not fit"
            whole, part = definition.cost(usable[:count]), definition.cost(usable[: count - 1])
            assert whole.rho >= part.rho and whole.delta >= part.delta, "a part costs more than the whole"


def check_claim(definition: Any, usable: list[PrivacyProfile]) -> None:
    """No step that fits is told apart from its neighbour more often than the definition claims."""
    for step, share in product(usable, range(1, 9)):
        budget = budget_of(definition, F(share, 8))
        if definition.fits([step], budget):
            claimed = definition.claim(budget, step.relation)
            assert step.distance() <= claimed.distance() + _ROUNDED, f"{definition.name} claims too little"


def check_relations(definition: Any, usable: list[PrivacyProfile]) -> None:
    """Steps of two relations are never priced together."""
    mixed = [usable[0], LAWS[0].profile(ONE, Relation.REPLACE)]
    for price, arguments in ((definition.fits, (mixed, budget_of(definition))), (definition.cost, (mixed,))):
        try:
            price(*arguments)
        except Unsupported:
            continue
        raise AssertionError(f"{definition.name} mixes relations")
