"""Probabilistic differential privacy: the loss stays below epsilon except with probability delta.

Guarantee
    For neighbours D, D': with probability at least 1 - delta over the output of M(D), its odds between D and D' are
    within exp(epsilon). This implies (epsilon, delta)-differential privacy, and is stronger.
Requires
    Steps with a pure, approximate or zero-concentrated statement; pairs (epsilon_i, delta_i) of a sequence add.
Evidence
    Proved. A pure step has delta 0. A step with a loss distribution has the probability of its large losses, exactly
    for one moved cell or cells that move by one, and bounded over all smaller moves otherwise
    (`exact.additive.product_tail`). From a curve delta(e): P(loss > epsilon) <= delta(e) / (1 - exp(e - epsilon)) for
    every e < epsilon. From rho: P(loss > epsilon) <= exp(-(epsilon - rho)^2 / (4 rho)) for epsilon > rho. The last two
    are taken 1 + exp(-epsilon) times, for the losses below -epsilon.
References
    Machanavajjhala, Kifer, Abowd, Gehrke & Vilhuber (2008); O'Keefe & Charest (2018) 6.1.
"""

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import ClassVar

from dalenius.core.budget import Budget
from dalenius.core.evidence import Evidence, Level
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import exp_upper
from dalenius.definitions._composition import SummedDefinition, one_relation
from dalenius.errors import TooLarge, Unsupported
from dalenius.exact.additive import product_tail

_STEPS = 32
_DOUBT = Fraction(1, 10**6)


class Probabilistic(SummedDefinition):
    name: ClassVar[str] = "probabilistic"
    amounts: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    # Pure noise never fails and truncated noise sometimes does, for hardly less variance.
    by_name_only: ClassVar[tuple[str, ...]] = ("truncated_laplace",)
    evidence: ClassVar[Evidence] = Evidence(
        Level.PROVED, ("Machanavajjhala et al. (2008)", "O'Keefe & Charest (2018) 6.1")
    )
    statements: ClassVar[tuple[str, ...]] = (
        "Except for outcomes of probability {delta} together, the probability of any outcome changes by at"
        " most a factor of exp({epsilon}) because of one unit's data (probabilistic differential privacy).",
    )

    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        epsilon, delta = self.required_amounts(budget)
        return self.failure(profiles, epsilon) <= delta

    def likely_fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        """What `fits` will say, by floats where they leave no doubt: for searching, never for a statement."""
        if len(profiles) != 1 or profiles[0].is_pure or budget.epsilon is None or budget.delta is None:
            return self.fits(profiles, budget)
        bounds = _stated(profiles[0], budget.epsilon)
        try:
            bounds.append(product_tail(profiles[0].shifts, budget.epsilon, is_estimated=True))
        except TooLarge:
            return self.fits(profiles, budget)
        if any(abs(bound - budget.delta) <= _DOUBT * budget.delta for bound in bounds):
            return self.fits(profiles, budget)
        return min(bounds) < budget.delta

    def failure(self, profiles: Sequence[PrivacyProfile], epsilon: Fraction) -> Fraction:
        """An upper bound of P(total loss > epsilon)."""
        one_relation(profiles)
        pure = sum((p.epsilon for p in profiles if p.is_pure and p.epsilon is not None), Fraction(0))
        rest = [p for p in profiles if not p.is_pure]
        left = epsilon - pure
        if not rest:
            return Fraction(0) if left >= 0 else Fraction(1)
        if left <= 0:
            return Fraction(1)
        shares = sum((_tail(p, left / len(rest)) for p in rest), Fraction(0))
        # Where a neighbour cannot give some output, no rho holds without a failure: its price need not be worked out.
        is_failing = any(p.delta and p.rho_delta for p in rest)
        total = None if is_failing else super().cost(rest)
        if total is None or total.delta:
            return min(Fraction(1), shares)
        together = PrivacyProfile(relation=total.relation, rho=total.rho)
        return min(Fraction(1), shares, _tail(together, left))


def _tail(profile: PrivacyProfile, epsilon: Fraction) -> Fraction:
    """P(|loss| > epsilon) of one step, from whichever statement gives the least.

    A loss below -epsilon is one above epsilon for the neighbour, and exp(-epsilon) times as likely at most.
    """
    both = 1 + exp_upper(-epsilon)
    bounds = [Fraction(1), *_stated(profile, epsilon)]
    with suppress(TooLarge):
        return min(*bounds, product_tail(profile.shifts, epsilon))
    if profile.curve is not None or profile.epsilon is not None:
        for i in range(_STEPS):
            e = epsilon * i / _STEPS
            bounds.append(both * profile.delta_at(e) / (1 - exp_upper(e - epsilon)))
    if len(bounds) == 1 and profile.rho is None:
        raise Unsupported("This step has no statement from which a probability of a large loss follows.")
    return min(bounds)


def _stated(profile: PrivacyProfile, epsilon: Fraction) -> list[Fraction]:
    """Bounds that follow from what a step states: from rho, and from the pair of a step whose moves are listed."""
    bounds = []
    if profile.rho is not None and not profile.rho_delta and epsilon > profile.rho > 0:
        tail = exp_upper(-((epsilon - profile.rho) ** 2) / (4 * profile.rho))
        bounds.append((1 + exp_upper(-epsilon)) * tail)
    if profile.shifts and profile.epsilon is not None and profile.epsilon <= epsilon:
        # No finite loss exceeds the stated epsilon; delta is the chance of an output that the neighbour cannot give.
        bounds.append(profile.delta)
    return bounds
