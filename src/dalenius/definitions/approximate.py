"""Approximate differential privacy: the loss exceeds epsilon only through a small probability delta.

Guarantee
    For neighbours D, D' and every set of outputs S: P(M(D) in S) <= exp(epsilon) P(M(D') in S) + delta.
Requires
    Steps with any statement. A sequence is priced as one fixed plan: its loss distributions are added exactly where the
    steps state them, a step with only (epsilon, delta) enters as the randomised response that dominates it, and where
    numbers grow too large the sums of (epsilon, delta) and of rho are used, which only over-report.
Evidence
    Proved, given the steps' own statements.
References
    Dwork, Kenthapadi, McSherry, Mironov & Naor (2006); Kairouz, Oh & Viswanath (2015); Canonne, Kamath & Steinke
    (2020).
"""

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import ClassVar

from dalenius.core import conversions
from dalenius.core.budget import Budget
from dalenius.core.evidence import Evidence, Level
from dalenius.core.profile import PrivacyProfile
from dalenius.definitions._composition import SummedDefinition, one_relation
from dalenius.errors import TooLarge, Unsupported
from dalenius.exact.additive import composed_losses

_DOUBT = 1e-6


class Approximate(SummedDefinition):
    name: ClassVar[str] = "approximate"
    amounts: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Dwork et al. (2006)", "Canonne, Kamath & Steinke (2020)"))
    statements: ClassVar[tuple[str, ...]] = (
        "Because of one unit's data the probability of any outcome changes by at most a factor of "
        "exp({epsilon}), plus {delta} (approximate differential privacy, epsilon = {epsilon}, delta = "
        "{delta}).",
    )

    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        epsilon, delta = self.required_amounts(budget)
        one_relation(profiles)
        # Cheap statements first: they often decide.
        return _by_sums(profiles, epsilon) <= delta or self.delta(profiles, epsilon) <= delta

    def likely_fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        """What `fits` will say, by floats where they leave no doubt: for searching, never for a statement."""
        if len(profiles) != 1 or profiles[0].estimate is None or budget.epsilon is None or budget.delta is None:
            return self.fits(profiles, budget)
        if _by_sums(profiles, budget.epsilon) <= budget.delta:
            return True
        about, delta = profiles[0].estimate(budget.epsilon), float(budget.delta)
        if about is None or abs(about - delta) <= _DOUBT * delta:
            return self.fits(profiles, budget)
        return about < delta

    def delta(self, profiles: Sequence[PrivacyProfile], epsilon: Fraction) -> Fraction:
        """Smallest delta known to hold for the whole sequence at this epsilon; never too small."""
        one_relation(profiles)
        if len(profiles) == 1:
            return profiles[0].delta_at(epsilon)
        bounds = [_by_sums(profiles, epsilon)]
        with suppress(TooLarge):
            # The sum of the loss distributions, over every combination of the steps' worst moves.
            bounds.append(max(loss.delta(epsilon) for loss in composed_losses(profiles)))
        return min(bounds)


def _by_sums(profiles: Sequence[PrivacyProfile], epsilon: Fraction) -> Fraction:
    """The sum of the (epsilon, delta) statements, or of the zero-concentrated ones, whichever is smaller."""
    bounds = [Fraction(1)]
    stated = [(p.epsilon, p.delta) for p in profiles if p.epsilon is not None]
    if len(stated) == len(profiles):
        whole, failure = sum((e for e, _ in stated), Fraction(0)), sum((d for _, d in stated), Fraction(0))
        bounds.append(failure + conversions.pure_to_delta(whole, epsilon))
    try:
        pairs = [p.stated_concentrated() for p in profiles]
    except Unsupported:
        return min(bounds)
    rho, failure = sum((r for r, _ in pairs), Fraction(0)), sum((d for _, d in pairs), Fraction(0))
    bounds.append(failure + conversions.rho_to_delta(rho, epsilon))
    return min(bounds)
