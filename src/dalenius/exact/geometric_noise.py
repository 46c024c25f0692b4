"""Profile and first guesses of laws that lose as one draw of two-sided geometric noise does.

The noise of `discrete_laplace` is one such draw. A sum of independent draws of which one is two-sided geometric is that
draw after processing, so that no statement about the draw is too small for the sum.
"""

from collections.abc import Sequence
from fractions import Fraction

from dalenius.core.budget import Budget
from dalenius.core.conversions import discrete_laplace_to_rho
from dalenius.core.evidence import Evidence
from dalenius.core.law import IntegerLaw
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.sensitivity import Sensitivity
from dalenius.exact import additive


def geometric_profile(
    law: IntegerLaw, rate: Fraction, sensitivity: Sensitivity, relation: Relation, evidence: Evidence
) -> PrivacyProfile:
    """Pure, zero-concentrated as one draw of this rate, and the law's exact curve where the moves are listed."""

    def cell_rho(shift: int) -> Fraction:
        return discrete_laplace_to_rho(rate, shift)

    epsilon, rho = rate * sensitivity.l1, additive.largest_sum(additive.moves(sensitivity), cell_rho)
    return additive.assembled(
        law, sensitivity, relation, epsilon=epsilon, rho=rho, cell_rho=cell_rho, evidence=evidence
    )


def geometric_guesses(sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
    """epsilon / l1, and the rate at which the Gaussian part of rho is spent."""
    if not sensitivity.l1:
        return ()
    rates = [budget.epsilon / sensitivity.l1] if budget.epsilon is not None else []
    if budget.rho is not None:
        rates.append(additive.nice(Fraction((2 * float(budget.rho / sensitivity.l2_squared)) ** 0.5)))
    return rates
