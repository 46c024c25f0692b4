"""Discrete Laplace noise: P(x) proportional to exp(-rate |x|) on all integers.

Guarantee
    Pure: epsilon = rate * (l1 sensitivity), exactly. Zero-concentrated: for a cell that moves by s, with b =
    exp(-rate), rho = rate * (s - 2 b (1 - b**s) / (1 - b**2)), tight; cells add.
Requires
    Integer answers, and their l1 sensitivity over the whole request.
Noise
    Variance 2 b / (1 - b)**2.
Evidence
    Proved; repeated for every calibrated member in tests/conformance/test_mechanisms.py.
References
    Ghosh, Roughgarden & Sundararajan (2009); Canonne, Kamath & Steinke (2020); Harrison & Manurangsi (2026) for rho.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log, log1p, tanh
from typing import ClassVar

import numpy as np

from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import FloatArray, IntArray, WeightTable
from dalenius.errors import TooLarge
from dalenius.exact import additive
from dalenius.exact.centred_noise import TOO_WIDE, ExponentialNoise, GeometricNoise, checked_rate
from dalenius.exact.loss import MOST_ATOMS, LossDistribution
from dalenius.exact.sampling import ExactSampler
from dalenius.exact.wide_sampling import TwoSidedGeometric

_WIDEST_TABLE = 128
_LEAST_RATE = Fraction(1, 1 << 40)


@dataclass(frozen=True)
class DiscreteLaplace(ExponentialNoise, GeometricNoise):
    name: ClassVar[str] = "discrete_laplace"
    is_default: ClassVar[bool] = True
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Ghosh et al. (2009)", "Canonne et al. (2020)"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checked_rate(self.rate))
        if self.rate < _LEAST_RATE:
            raise TooLarge(TOO_WIDE)

    @property
    def variance(self) -> float:
        rate = float(self.rate)
        return 2 * exp(-rate) / expm1(-rate) ** 2

    def weights(self, bits: int) -> WeightTable:
        return additive.geometric_weights(self.rate, bits)

    def log_pmf(self, k: IntArray) -> FloatArray:
        rate = float(self.rate)
        constant = log(tanh(rate / 2)) if rate < 1 else log1p(-exp(-rate)) - log1p(exp(-rate))
        return constant - rate * np.abs(np.asarray(k, dtype=np.int64)).astype(np.float64)

    def _beyond(self, distance: IntArray) -> FloatArray:
        """P(noise >= distance), distance >= 1: b**distance / (1 + b)."""
        rate = float(self.rate)
        return np.exp(-rate * np.maximum(distance, 0)) / (1 + exp(-rate))

    def coarse_loss(self, size: int) -> LossDistribution | None:
        """Refuses at once what would be refused after listing: the table ends where a weight falls below 2^-144."""
        if self.rate * 4 * MOST_ATOMS < 180:
            raise TooLarge("The law is too wide for an exact loss distribution.")
        return None

    def exact_sampler(self) -> ExactSampler | None:
        return TwoSidedGeometric(self.rate) if self.rate * _WIDEST_TABLE < 1 else None
