"""What every data-dependent guarantee shares: how it composes, and what a reader must be told."""

from collections.abc import Sequence
from typing import ClassVar

from dalenius.core.budget import Budget
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import plain
from dalenius.definitions._composition import SummedDefinition
from dalenius.errors import ParameterError
from dalenius.spec.notes import note

ACCOUNT = "data-dependent"

REPETITION = note("repetition")
SCALE = note("scale")
WHO_BOOTSTRAP = note("who_bootstrap")
WHO_INDIVIDUAL = note("who_individual")


class DataDependent(SummedDefinition):
    amounts: ClassVar[tuple[str, ...]] = ("epsilon",)
    account: ClassVar[str] = ACCOUNT

    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        """Whether a sequence stays within (epsilon), (epsilon, delta) or (rho), between the guarantee's own pairs.

        Losses of a fixed pair of data sets compose as they do under differential privacy; the pairs are fewer.
        """
        total = super().cost(profiles)
        if budget.rho is not None:
            return total.rho <= budget.rho and total.delta == 0
        if budget.epsilon is None:
            raise ParameterError("This definition needs epsilon, or rho.", name="epsilon")
        if total.epsilon is not None and total.epsilon <= budget.epsilon:
            return True
        if budget.delta is None:
            return False
        together = PrivacyProfile(relation=total.relation, rho=total.rho, rho_delta=total.delta)
        return together.delta_at(budget.epsilon) <= budget.delta

    def sentence(self, budget: Budget) -> str:
        stated = (f"{name} = {plain(amount)}" for name, amount in budget.amounts.items() if amount is not None)
        return self.statements[0].format(amounts=", ".join(stated))
