"""Pure differential privacy: the loss is bounded by epsilon with certainty.

Guarantee
    For neighbours D, D' and every set of outputs S: P(M(D) in S) <= exp(epsilon) P(M(D') in S).
Requires
    Steps whose loss is bounded with certainty; epsilons of a sequence add.
Evidence
    Proved, given the steps' own statements.
References
    Dwork, McSherry, Nissim & Smith (2006).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from dalenius.core.budget import Budget, Cost
from dalenius.core.evidence import Evidence, Level
from dalenius.core.profile import PrivacyProfile
from dalenius.definitions._composition import SummedDefinition, one_relation
from dalenius.errors import Unsupported


class Pure(SummedDefinition):
    name: ClassVar[str] = "pure"
    amounts: ClassVar[tuple[str, ...]] = ("epsilon",)
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Dwork, McSherry, Nissim & Smith (2006)",))
    statements: ClassVar[tuple[str, ...]] = (
        "The probability of any outcome changes by at most a factor of exp({epsilon}) because of one "
        "unit's data (pure differential privacy, epsilon = {epsilon}).",
    )

    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        (epsilon,) = self.required_amounts(budget)
        return self._epsilon(profiles) <= epsilon

    def cost(self, profiles: Sequence[PrivacyProfile]) -> Cost:
        self._epsilon(profiles)
        return super().cost(profiles)

    @staticmethod
    def _epsilon(profiles: Sequence[PrivacyProfile]) -> Fraction:
        one_relation(profiles)
        total = Fraction(0)
        for profile in profiles:
            if profile.epsilon is None or profile.delta:
                raise Unsupported(
                    "This noise has no certain bound on the loss, so it is not pure; use 'approximate' or "
                    "'zero_concentrated'."
                )
            total += profile.epsilon
        return total
