"""What a sequence of steps costs together: one relation, exact sums."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from dalenius.core.budget import MASTER, Budget, Cost
from dalenius.core.neighbours import Relation, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import plain
from dalenius.errors import ParameterError, Unsupported


def one_relation(profiles: Sequence[PrivacyProfile]) -> Relation:
    """The relation under which all steps are stated; a mixture is refused."""
    relations = {p.relation for p in profiles}
    if len(relations) > 1:
        raise Unsupported(
            "Steps under add-remove and under replace are never priced together; state all of them under one relation."
        )
    return relations.pop() if relations else Relation.ADD_REMOVE


class SummedDefinition(ABC):
    """What definitions share; unless they say otherwise they hold for all data and charge the master account."""

    name: ClassVar[str]
    amounts: ClassVar[tuple[str, ...]]
    scope: ClassVar[Scope] = Scope.ALL_DATA
    account: ClassVar[str] = MASTER
    by_name_only: ClassVar[tuple[str, ...]] = ()
    warnings: ClassVar[tuple[str, ...]] = ()
    statements: ClassVar[tuple[str, ...]] = ()

    def cost(self, profiles: Sequence[PrivacyProfile]) -> Cost:
        total = Cost(relation=one_relation(profiles), rho=Fraction(0), epsilon=Fraction(0))
        for profile in profiles:
            total += profile.cost()
        return total

    @abstractmethod
    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        """Whether the sequence stays within the budget under this definition."""

    def sentence(self, budget: Budget) -> str:
        amounts = zip(self.amounts, map(plain, self.required_amounts(budget)), strict=True)
        return self.statements[0].format(**dict(amounts))

    def claim(self, budget: Budget, relation: Relation) -> PrivacyProfile:
        failure = budget.delta or Fraction(0)
        if budget.rho is not None:
            return PrivacyProfile(relation=relation, rho=budget.rho, rho_delta=failure)
        return PrivacyProfile(relation=relation, epsilon=budget.epsilon, delta=failure)

    def required_amounts(self, budget: Budget) -> tuple[Fraction, ...]:
        """Return the amounts of a budget that the definition speaks of; raises `ParameterError` if one is missing."""
        amounts = [budget.amounts[name] for name in self.amounts]
        present = tuple(amount for amount in amounts if amount is not None)
        if len(present) < len(amounts):
            needed = " and ".join(self.amounts)
            raise ParameterError(f"The definition {self.name!r} needs {needed}.", name=self.amounts[-1])
        return present
