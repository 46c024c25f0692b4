"""A budget in one currency, as it is parted between the steps of a plan."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from dalenius.core import conversions, registry
from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition, Measurement
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.search import narrow
from dalenius.errors import Unsupported
from dalenius.exact.gaussian_vector import largest_rho

_MOST_BACK = 6
Option = TypeVar("Option")


@dataclass(frozen=True, kw_only=True)
class Allotment:
    """A budget in one currency: "epsilon" for Laplace noise, "rho" for Gaussian.

    One that is priced by its loss goes to strategies whose single step states it (`has_curve`).
    """

    currency: str
    amount: Fraction
    is_by_loss: bool = False

    @property
    def mechanism(self) -> str:
        """The family that is best in this currency."""
        return "discrete_laplace" if self.currency == "epsilon" else "discrete_gaussian"

    def part(self, share: Fraction) -> tuple[Definition, Budget]:
        """A share of the budget, with the definition in which it is spent."""
        name = "pure" if self.currency == "epsilon" else "zero_concentrated"
        amounts: dict[str, Any] = {self.currency: self.amount * share}
        return registry.get("definitions", name)(), Budget(definition=name, **amounts)


def allotments(definition: Definition, budget: Budget) -> tuple[Allotment, ...]:
    """The currencies in which a definition's budget can be spent.

    Under (epsilon, delta) Gaussian noise is priced by its loss where one step states it, and otherwise by the rho that
    implies the budget.
    """
    name = definition.name
    if definition.scope is not Scope.ALL_DATA:
        raise Unsupported(f"Margins are planned under definitions that hold everywhere; {name!r} does not.")
    if name == "pure" and budget.epsilon is not None:
        return (Allotment(currency="epsilon", amount=budget.epsilon),)
    if name == "zero_concentrated" and budget.rho is not None:
        return (Allotment(currency="rho", amount=budget.rho),)
    if budget.epsilon is not None and budget.delta is not None:
        rho = affordable_rho(budget.epsilon, budget.delta)
        amounts = (Allotment(currency="epsilon", amount=budget.epsilon), Allotment(currency="rho", amount=rho))
        if name != "approximate":
            return amounts
        largest = largest_rho(budget.epsilon, budget.delta)
        return (*amounts, Allotment(currency="rho", amount=largest, is_by_loss=True))
    raise Unsupported(f"Margins are not planned under {name!r}.")


def within_loss(
    allotment: Allotment,
    option_of: Callable[[Allotment], Option],
    steps_of: Callable[[Option], tuple[Measurement, ...]],
    neighbours: Neighbours,
    budget: Budget,
) -> Option:
    """The option for the largest amount whose single step is certified: a little less is spent until it is."""
    assert budget.epsilon is not None and budget.delta is not None
    for _ in range(_MOST_BACK):
        option = option_of(allotment)
        (step,) = steps_of(option)
        profile = step.profile(neighbours)
        if profile.curve is None:
            break
        if profile.delta_at(budget.epsilon) <= budget.delta:
            return option
        allotment = replace(allotment, amount=allotment.amount * _less(profile, budget))
    raise Unsupported("This noise is too narrow to be priced by its loss.")


def _less(profile: PrivacyProfile, budget: Budget) -> Fraction:
    """By how much an amount must fall: delta falls about as that of normal noise does."""
    assert profile.curve is not None and budget.epsilon is not None and budget.delta is not None
    reached = largest_rho(budget.epsilon, profile.curve(budget.epsilon))
    return largest_rho(budget.epsilon, budget.delta) / reached * Fraction(999_999, 1_000_000)


def affordable_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho (rounded down) whose conversion stays within (epsilon, delta)."""
    rho = narrow(
        lambda rho: conversions.rho_to_delta(rho, epsilon) <= delta,
        Fraction(0),
        epsilon,
        halvings=40,
        between=lambda low, high: Fraction(int((low + high) / 2 * 10**12), 10**12),
    ).inside
    if not rho:
        raise Unsupported("No Gaussian noise fits this epsilon and delta.")
    return rho
