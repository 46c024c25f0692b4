"""Zero-concentrated differential privacy: every Renyi divergence of order a is at most a * rho.

Guarantee
    For neighbours D, D' and every order a > 1: D_a(M(D) || M(D')) <= a rho; with a delta in the budget, outside an
    event of that probability.
Requires
    Steps with a zero-concentrated statement, or a pure one; rho and delta of a sequence add.
Evidence
    Proved, given the steps' own statements.
References
    Bun & Steinke (2016); Whitehouse, Ramdas, Rogers & Wu (2023) for sequences chosen as they go.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from dalenius.core import conversions
from dalenius.core.budget import Budget
from dalenius.core.evidence import Evidence, Level
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import plain, round_up
from dalenius.definitions._composition import SummedDefinition, one_relation
from dalenius.errors import Unsupported


class ZeroConcentrated(SummedDefinition):
    name: ClassVar[str] = "zero_concentrated"
    amounts: ClassVar[tuple[str, ...]] = ("rho",)
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Bun & Steinke (2016)",))
    statements: ClassVar[tuple[str, ...]] = (
        "The Renyi divergence of order a between neighbours is at most a * {rho} for every a > 1 "
        "(zero-concentrated differential privacy, rho = {rho}); it follows, for example, that the "
        "probability of any outcome changes by at most a factor of exp({epsilon}), plus one in a million, "
        "because of one unit's data.",
        "The Renyi divergence of order a between neighbours is at most a * {rho} for every a > 1, but for "
        "a part of probability {delta} (zero-concentrated differential privacy, rho = {rho}); it follows, "
        "for example, that the probability of any outcome changes by at most a factor of exp({epsilon}), "
        "plus one in a million and {delta}, because of one unit's data.",
    )

    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        (rho,) = self.required_amounts(budget)
        one_relation(profiles)
        pairs = [p.zero_concentrated() for p in profiles]
        failure = sum((d for _, d in pairs), Fraction(0))
        if failure and budget.delta is None:
            raise Unsupported(
                "This noise can fail with a small probability, so it is zero-concentrated only with a delta; "
                "state a delta beside rho, or use untruncated noise."
            )
        return sum((r for r, _ in pairs), Fraction(0)) <= rho and failure <= (budget.delta or 0)

    def sentence(self, budget: Budget) -> str:
        (rho,) = self.required_amounts(budget)
        epsilon = float(round_up(conversions.rho_to_epsilon(rho, Fraction(1, 10**6)), 1000))
        delta = plain(budget.delta) if budget.delta else ""
        template = self.statements[1 if delta else 0]
        return template.format(rho=plain(rho), epsilon=f"{epsilon:.3f}", delta=delta)
