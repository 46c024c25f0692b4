"""Averaged Laplace noise: the sum of several discrete Laplace draws, pure and nearly normal.

The average of k answers, each with Laplace noise for a k-th of epsilon, is the answer plus the sum of k Laplace draws
for the whole of epsilon: k times the variance of plain Laplace noise, and close to normal from about ten terms on.

Guarantee
    Pure: epsilon = rate * (l1 sensitivity), because all draws but one are post-processing of plain discrete Laplace
    noise; rho is that of one draw, and the exact curve is computed from the loss distribution.
Requires
    Integer answers, and their l1 sensitivity over the whole request. Named by a request: with one term it is discrete
    Laplace noise, which always has the least variance. Against the analytic Gaussian at delta = 1e-6 and epsilon 1 up
    to 8 terms have less variance.
Noise
    Variance terms * 2 b / (1 - b)**2 with b = exp(-rate). The law is the exact convolution: the two one-sided geometric
    filters, each applied `terms` times in integers, rounded outwards.
Evidence
    Proved.
References
    Brawner & Honaker (2018), section 4 and Remark 2, corrected.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, expm1, log
from typing import Any, ClassVar

import numpy as np

from dalenius.core.calibrate import StatedFamily
from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import FloatArray, IntArray, WeightTable
from dalenius.core.rationals import exp_enclosure
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.centred_noise import CentredNoise, GeometricNoise, checked_rate
from dalenius.exact.loss_estimate import LossEstimate, of_table
from dalenius.spec.document import Exact, Part, Whole

_USUAL, _MOST = 10, 50
_LEAST_RATE, _MOST_RATE = Fraction(1, 64), 10**4
_GUARD = 64
_ESTIMATED_BITS = 144
_LISTED_BITS, _DIGITS_BITS = 160, 36


class AveragedLaplaceParameters(Part, section="[privacy.noise] of averaged_laplace"):
    """What a request may state: the number of terms, and the rate unless it is calibrated."""

    terms: Whole
    rate: Exact | None = None


@dataclass(frozen=True)
class AveragedLaplace(CentredNoise, GeometricNoise):
    terms: int = _USUAL
    name: ClassVar[str] = "averaged_laplace"
    is_default: ClassVar[bool] = False
    Parameters: ClassVar[type[Part]] = AveragedLaplaceParameters
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Brawner & Honaker (2018), Remark 2, corrected",))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checked_rate(self.rate, _MOST_RATE))
        if isinstance(self.terms, bool) or not isinstance(self.terms, int) or not 1 <= self.terms <= _MOST:
            raise ParameterError(f"terms must be an integer from 1 to {_MOST}; received {self.terms!r}.")
        if self.rate < _LEAST_RATE:
            raise TooLarge(
                "The sum of so wide draws is not listed; discrete_laplace has less variance, and discrete_gaussian is "
                "as near to normal."
            )

    @classmethod
    def stated(cls, parameters: Any) -> "AveragedLaplace | StatedFamily":
        terms, rate = parameters.terms, parameters.rate
        if rate is not None:
            return cls(rate=rate, terms=terms)
        return StatedFamily(cls.name, lambda size, _: cls(rate=size, terms=terms), cls.guesses)

    @property
    def variance(self) -> float:
        rate = float(self.rate)
        return self.terms * 2 * exp(-rate) / expm1(-rate) ** 2

    def weights(self, bits: int) -> WeightTable:
        return _weights(self.rate, self.terms, bits)

    def coarse_estimate(self, size: int) -> LossEstimate | None:
        return of_table(self.weights(_ESTIMATED_BITS), size)

    def log_pmf(self, k: IntArray) -> FloatArray:
        """From listed probabilities where they have many digits; beyond by the tail's shape, x^(terms - 1) b^x."""
        logs, offset = _logs(self.rate, self.terms)
        last = len(logs) - 1
        x = np.abs(np.asarray(k, dtype=np.int64))
        beyond = np.maximum(x - last, 0)
        grown = (self.terms - 1) * np.log1p(beyond / (last + offset))
        return np.asarray(logs[np.minimum(x, last)] - float(self.rate) * beyond + grown)


@lru_cache(maxsize=64)
def _logs(rate: Fraction, terms: int) -> tuple[FloatArray, float]:
    """log P(x) for x = 0, 1, … while weights have ten digits, and where the tail's power law starts (equal slopes)."""
    table = _weights(rate, terms, _LISTED_BITS)
    total = sum(table.upper)
    weights = [w for w in table.upper[-table.first :] if w >= 1 << _DIGITS_BITS]
    logs = np.log(np.array([w / total for w in weights]))
    rise = float(rate) + float(logs[-1] - logs[-2]) if len(logs) > 1 else 0.0
    offset = (terms - 1) / rise - (len(logs) - 1) if rise > 0 else 0.0
    return logs, max(offset, 1.0)


def _length(rate: float, terms: int, bits: int) -> int:
    """From where on weights and all that lies beyond are far below a unit: x^(2 terms) exp(-rate x) < 2^-bits."""
    x = 8.0
    while rate * x - 2 * terms * log(x + 2 * terms) < bits * log(2):
        x *= 1.1
    return int(x) + 2


@lru_cache(maxsize=16)
def _weights(rate: Fraction, terms: int, bits: int) -> WeightTable:
    """b^|x| convolved with itself: powers of the filter 1 / (1 - b z), then of its mirror image, on x >= 0."""
    size = _length(float(rate), terms, bits + 2 * _GUARD)
    # A power of b is multiplied by as many ways as there are, and so is its rounding.
    work = bits + _GUARD + comb(size + terms, terms).bit_length()
    low, high = exp_enclosure(-rate, work)
    lower, upper = [], []
    down = up = 1 << work
    for j in range(size):
        ways = comb(j + terms - 1, terms - 1)
        lower.append(ways * down)
        # One unit more than rounding needs stands for everything beyond the list.
        upper.append(ways * up + 1)
        down, up = down * low >> work, -(-up * high >> work)
    for _ in range(terms):
        for j in range(size - 2, -1, -1):
            lower[j] += lower[j + 1] * low >> work
            upper[j] += -(-upper[j + 1] * high >> work)
    # Scaled so that the largest weight, at zero, is about one.
    shift = max(upper[0].bit_length() - bits, 0)
    lower, upper = [w >> shift for w in lower], [-(-w >> shift) for w in upper]
    last = next((j for j in range(size) if upper[j] <= 1), size - 1)
    lower, upper = lower[: last + 1], upper[: last + 1]
    # Beyond the list a weight falls by exp(-rate / 4) at least: by a saddle point that is so from 0.54 terms / rate on.
    outside = 1 + int(1 / -expm1(-float(rate) / 4))
    return WeightTable(bits, -last, lower[:0:-1] + lower, upper[:0:-1] + upper, outside, outside)
