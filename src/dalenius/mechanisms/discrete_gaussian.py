"""Discrete Gaussian noise: P(x) proportional to exp(-x^2 / (2 sigma_squared)) on all integers.

Guarantee
    Zero-concentrated: rho = (squared l2 sensitivity) / (2 sigma_squared). The curve delta(epsilon) is computed exactly
    from the loss distribution, not from the continuous law.
Requires
    Integer answers, and their l2 sensitivity over the whole request.
Noise
    Variance at most sigma_squared.
Evidence
    Proved.
References
    Canonne, Kamath & Steinke (2020), Proposition 5 and Theorem 7.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, log, pi, sqrt
from typing import ClassVar

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import FloatArray, IntArray, WeightTable, tails_of
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import rational
from dalenius.core.search import narrow
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact import additive, gaussian, gaussian_vector
from dalenius.exact.centred_noise import TOO_WIDE, CentredNoise
from dalenius.exact.loss import LossDistribution
from dalenius.exact.loss_estimate import LossEstimate
from dalenius.exact.sampling import ExactSampler

_WIDE = 1 << 20
_LEAST, _MOST = Fraction(1, 100), Fraction(1 << 80)


@dataclass(frozen=True)
class DiscreteGaussian(CentredNoise):
    sigma_squared: Fraction
    name: ClassVar[str] = "discrete_gaussian"
    is_default: ClassVar[bool] = True
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Canonne, Kamath & Steinke (2020)",))

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", rational(self.sigma_squared, "sigma_squared"))
        if self.sigma_squared < _LEAST:
            raise ParameterError(f"sigma_squared must be at least {_LEAST}; received {self.sigma_squared}.")
        if self.sigma_squared > _MOST:
            raise TooLarge(TOO_WIDE)

    @staticmethod
    def least_variance(sensitivity: Sensitivity, budget: Budget) -> float:
        """A variance that this noise needs at least under (epsilon, delta); 0 where none is known.

        Normal noise of variance 2 on top makes normal noise of variance s2 + 2 of it, up to a factor of 1 + 1e-14 for
        s2 > 36 (Poisson summation), and what is seen of that is seen of the whole. So s2 + 2 is at least what normal
        noise needs for the largest move of one cell; a tenth is left for rounding.

        >>> budget = Budget.of("approximate", epsilon="0.1", delta="1e-9")
        >>> DiscreteGaussian.least_variance(Sensitivity.of_patterns(((4,),)), budget) > 30_000
        True
        """
        if budget.epsilon is None or budget.delta is None or not 0 < budget.delta < 1:
            return 0.0
        spent = float(gaussian_vector.largest_rho(budget.epsilon, budget.delta))
        needed = float(sensitivity.linf) ** 2 / (2 * spent) if spent > 0 else 0.0
        return 0.9 * needed if needed > 40 else 0.0

    @property
    def variance(self) -> float:
        """Summed; equal to sigma_squared to machine precision from sigma_squared = 4 on."""
        s2 = float(self.sigma_squared)
        if s2 > 16:
            return s2
        k = np.arange(1, 200, dtype=np.float64)
        w = np.exp(-k * k / (2 * s2))
        return float(2 * (k * k * w).sum() / (1 + 2 * w.sum()))

    @property
    def _log_total(self) -> float:
        """Logarithm of the sum of the weights, by the direct sum or by its Poisson dual, whichever is short."""
        s2 = float(self.sigma_squared)
        k = np.arange(1, 60, dtype=np.float64)
        if s2 < 1:
            return float(np.log1p(2 * np.exp(-k * k / (2 * s2)).sum()))
        return 0.5 * log(2 * pi * s2) + float(np.log1p(2 * np.exp(-2 * pi * pi * s2 * k * k).sum()))

    def weights(self, bits: int) -> WeightTable:
        return gaussian.weights(self.sigma_squared, bits)

    def log_pmf(self, k: IntArray) -> FloatArray:
        x = np.asarray(k, dtype=np.int64).astype(np.float64)
        return -x * x / (2 * float(self.sigma_squared)) - self._log_total

    def cdf(self, k: IntArray) -> FloatArray:
        return self.sf(-np.asarray(k, dtype=np.int64) - 1)

    def sf(self, k: IntArray) -> FloatArray:
        k = np.asarray(k, dtype=np.int64)
        return gaussian.wide_sf(float(self.sigma_squared), k) if self.sigma_squared > _WIDE else tails_of(self).sf(k)

    def log_weight(self) -> tuple[Fraction, Callable[[int], int]]:
        return 1 / (2 * self.sigma_squared), lambda x: -x * x

    def largest_loss(self, size: int) -> Fraction | None:
        """The loss grows without bound in the tails."""
        return None

    def coarse_loss(self, size: int) -> LossDistribution | None:
        return gaussian.coarse_loss(self.sigma_squared, abs(size)) if self.sigma_squared > _WIDE else None

    def coarse_estimate(self, size: int) -> LossEstimate | None:
        return gaussian.coarse_estimate(self.sigma_squared, abs(size)) if self.sigma_squared > _WIDE else None

    def exact_sampler(self) -> ExactSampler | None:
        return gaussian.RejectionSampler(self.sigma_squared) if self.sigma_squared > _WIDE else None

    def profile(self, sensitivity: Sensitivity, relation: Relation) -> PrivacyProfile:
        rho, nothing = sensitivity.l2_squared / (2 * self.sigma_squared), Fraction(0)

        def cell_rho(shift: int) -> Fraction:
            return shift * shift / (2 * self.sigma_squared)

        epsilon = None if rho else nothing
        return additive.assembled(
            self, sensitivity, relation, epsilon=epsilon, rho=rho, cell_rho=cell_rho, evidence=self.evidence
        )

    @classmethod
    def family(cls, size: Fraction, budget: Budget) -> "DiscreteGaussian":
        return cls(sigma_squared=1 / size)

    @classmethod
    def guesses(cls, sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
        """2 rho / l2^2; for (epsilon, delta), a fine ladder around the continuous Gaussian's."""
        if not sensitivity.l2_squared:
            return ()
        if budget.rho is not None:
            return (2 * budget.rho / sensitivity.l2_squared,)
        if budget.epsilon is None or budget.delta is None:
            return ()
        reached = _tail if budget.definition == "probabilistic" else _hockey_stick
        mu = _mu(reached, float(budget.epsilon), float(budget.delta))
        mu_squared = Fraction(mu**2) / sensitivity.l2_squared
        ladder = [Fraction(10000 + step, 10000) for step in (-200, -20, -2, 0, 2, 20)]
        return [1 / additive.nice(1 / (mu_squared * f)) for f in ladder]


def _hockey_stick(mu: float, epsilon: float) -> float:
    """delta(epsilon) of the continuous Gaussian; a guess only."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return 0.5 * (erfc(-a / sqrt(2)) - exp(min(epsilon, 700)) * erfc(-b / sqrt(2)))


def _tail(mu: float, epsilon: float) -> float:
    """Its probability of a loss beyond epsilon; a guess only."""
    return 0.5 * erfc((epsilon / mu - mu / 2) / sqrt(2)) * (1 + exp(-epsilon))


def _mu(reached: Callable[[float, float], float], epsilon: float, delta: float) -> float:
    """mu of the continuous Gaussian that reaches delta; a guess only."""
    low, high = 1e-12, 1.0
    while reached(high, epsilon) < delta and high < 1e6:
        high *= 2
    return narrow(lambda mu: reached(mu, epsilon) < delta, low, high, halvings=100).inside
