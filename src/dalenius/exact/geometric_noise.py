"""What laws that fall off like exp(-rate |x|) share.

The noise of `discrete_laplace` is one draw of two-sided geometric noise. A sum of independent draws of which one is
two-sided geometric is that draw after processing, so that no statement about the draw is too small for the sum.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, Self, cast

from dalenius.core.budget import Budget
from dalenius.core.conversions import discrete_laplace_to_rho
from dalenius.core.evidence import Evidence
from dalenius.core.law import IntegerLaw
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import rational
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.exact import additive
from dalenius.exact.centred_noise import NoiseWithTails


def checked_rate(rate: object, most: int = 10**6) -> Fraction:
    """Return a rate as an exact number; raises `ParameterError` unless it is positive and at most `most`."""
    exact = rational(rate, "rate")
    if not 0 < exact <= most:
        raise ParameterError(f"rate must be positive and at most {most}; received {exact}.")
    return exact


@dataclass(frozen=True)
class GeometricNoise:
    """Noise that loses as one draw of two-sided geometric noise of its rate does, or less."""

    rate: Fraction
    evidence: ClassVar[Evidence]

    def profile(self, sensitivity: Sensitivity, relation: Relation) -> PrivacyProfile:
        """Pure, zero-concentrated as one draw of this rate, and the law's exact curve where the moves are listed."""
        cell_rho = partial(discrete_laplace_to_rho, self.rate)
        epsilon, rho = self.rate * sensitivity.l1, additive.largest_sum(additive.moves(sensitivity), cell_rho)
        law = cast(IntegerLaw, self)
        return additive.assembled(
            law, sensitivity, relation, epsilon=epsilon, rho=rho, cell_rho=cell_rho, evidence=self.evidence
        )

    @classmethod
    def family(cls, size: Fraction, budget: Budget) -> Self:
        return cls(rate=size)

    @classmethod
    def guesses(cls, sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
        """epsilon / l1, and the rate at which the Gaussian part of rho is spent."""
        if not sensitivity.l1:
            return ()
        rates = [budget.epsilon / sensitivity.l1] if budget.epsilon is not None else []
        if budget.rho is not None:
            rates.append(additive.nice(Fraction((2 * float(budget.rho / sensitivity.l2_squared)) ** 0.5)))
        return rates


@dataclass(frozen=True)
class ExponentialNoise(NoiseWithTails):
    """P(x) proportional to exp(-rate |x|), wherever it ends."""

    rate: Fraction

    def log_weight(self) -> tuple[Fraction, Callable[[int], int]]:
        return self.rate, lambda x: -abs(x)

    def largest_loss(self, size: int) -> Fraction:
        return self.rate * abs(size)
