"""What noise about zero shares: its mean, its parameters, both tails from one of them; and laws like exp(-rate |x|).

The noise of `discrete_laplace` is one draw of two-sided geometric noise. A sum of independent draws of which one is
two-sided geometric is that draw after processing, so that no statement about the draw is too small for the sum.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.conversions import discrete_laplace_to_rho
from dalenius.core.evidence import Evidence
from dalenius.core.law import FloatArray, IntArray, IntegerLaw
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import rational
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.exact import additive

TOO_WIDE = "This noise would leave the range of 64-bit integers; a smaller sensitivity or a larger budget is needed."


class CentredNoise:
    """A symmetric law whose parameters are the fields of a dataclass; on all integers unless it says otherwise."""

    is_symmetric: ClassVar[bool] = True
    mean: ClassVar[float] = 0.0

    @property
    def parameters(self) -> Mapping[str, Fraction | int]:
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}

    @property
    def support(self) -> tuple[int | None, int | None]:
        return (None, None)


class NoiseWithTails(CentredNoise, ABC):
    """A law that knows one tail in closed form."""

    def cdf(self, k: IntArray) -> FloatArray:
        k = np.asarray(k, dtype=np.int64)
        return np.where(k < 0, self._beyond(-k), 1 - self._beyond(k + 1))

    def sf(self, k: IntArray) -> FloatArray:
        return self.cdf(-np.asarray(k, dtype=np.int64) - 1)

    @abstractmethod
    def _beyond(self, distance: IntArray) -> FloatArray:
        """P(noise >= distance), distance >= 1."""


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

        def cell_rho(shift: int) -> Fraction:
            return discrete_laplace_to_rho(self.rate, shift)

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
