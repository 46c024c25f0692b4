"""Maximum-entropy noise under a range and a variance cap.

Guarantee
    As for truncated normal noise: the exact largest finite loss, the exact mass of impossible outputs, the exact curve.
Requires
    A cap below the variance of the uniform law on the range, limit (limit + 1) / 3; above it the cap does not bind.
Noise
    Of all laws on |x| <= limit with mean zero and variance at most the cap, the one of largest entropy: P(x)
    proportional to exp(-multiplier x^2), with the Lagrange multiplier that meets the cap. The multiplier is the
    smallest multiple of 2^-40 whose variance does not exceed the cap, found and checked in exact arithmetic.
Evidence
    Proved; repeated exactly in tests/conformance/test_mechanisms.py.
References
    Marley & Leaver (2011); Andersson, Jansson & Kraft (2015); Rinott et al. (2018), 5.3; Cover & Thomas (2006), chapter
    12.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, log
from typing import Any, ClassVar

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.evidence import Evidence, Level
from dalenius.core.rationals import exp_enclosure, rational
from dalenius.core.search import narrow, smallest
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.exact import additive, finite_noise
from dalenius.spec.document import Exact, Part, Whole

_GRID = 1 << 40
_BITS = 160


class MaxEntropyParameters(Part, section="[privacy.noise] of max_entropy"):
    """What a request may state: range and variance, which fix the law."""

    limit: Whole
    variance: Exact


@dataclass(frozen=True)
class MaxEntropy(finite_noise.SquaredExponential):
    cap: Fraction
    limit: int
    name: ClassVar[str] = "max_entropy"
    is_default: ClassVar[bool] = False
    Parameters: ClassVar[type[Part]] = MaxEntropyParameters
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Rinott et al. (2018), 5.3",))

    def __post_init__(self) -> None:
        object.__setattr__(self, "cap", rational(self.cap, "cap"))
        object.__setattr__(self, "limit", int(self.limit))
        finite_noise.check_limit(self.limit)
        if not Fraction(1, 10**6) <= self.cap < Fraction(self.limit * (self.limit + 1), 3):
            raise ParameterError(
                f"the variance cap must lie between 0.000001 and the variance of the uniform law on the range,"
                f" {self.limit * (self.limit + 1) / 3:.6g}; received {float(self.cap):.6g}."
            )

    @classmethod
    def stated(cls, parameters: Any) -> "MaxEntropy":
        return cls(cap=parameters.variance, limit=parameters.limit)

    @property
    def multiplier(self) -> Fraction:
        """The Lagrange multiplier of the variance, rounded up so that the cap holds."""
        return _multiplier(self.cap, self.limit)

    @property
    def decay(self) -> Fraction:
        return self.multiplier

    @classmethod
    def family(cls, size: Fraction, budget: Budget) -> "MaxEntropy":
        """The size is 1 / cap; the limit is six standard deviations and more, as delta asks."""
        if budget.delta is None:
            raise ParameterError("Noise on a finite range needs a budget with delta.", name="delta")
        reach = max(-2 * log(float(budget.delta) / 8) / float(size), 1.0) ** 0.5
        return cls(cap=1 / size, limit=max(2, int(reach) + 2))

    @classmethod
    def guesses(cls, sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
        """About the Gaussian of the same (epsilon, delta), or of the same rho."""
        if budget.rho is not None and sensitivity.l2_squared:
            near = 2 * budget.rho / sensitivity.l2_squared
            return [additive.nice(near * Fraction(percent, 100)) for percent in (99, 100, 101)]
        if budget.epsilon is None or budget.delta is None or not sensitivity.l2_squared:
            return ()
        need = 2 * log(1.25 / float(budget.delta)) / float(budget.epsilon) ** 2
        return [additive.nice(1 / Fraction(need * float(sensitivity.l2_squared) * f)) for f in (2.0, 1.0)]


@lru_cache(maxsize=256)
def _multiplier(cap: Fraction, limit: int) -> Fraction:
    """The smallest multiple of the grid at which the variance is certainly at most the cap."""
    # Floats say where to look, enclosures decide.
    near, reach = int(_near(float(cap), limit) * _GRID), 4
    low, high = max(near - reach, 0), near + reach
    while low and _is_within(Fraction(low, _GRID), cap, limit):
        reach *= 4
        low, high = max(low - reach, 0), low
    while not _is_within(Fraction(high, _GRID), cap, limit):
        reach *= 4
        low, high = high, high + reach
    return Fraction(smallest(lambda k: _is_within(Fraction(k, _GRID), cap, limit), low, high), _GRID)


def _near(cap: float, limit: int) -> float:
    """About the multiplier at which the variance is the cap, by bisection on its logarithm."""
    square = np.arange(limit + 1, dtype=np.float64) ** 2
    times = np.where(square > 0, 2.0, 1.0)

    def is_less(logarithm: float) -> bool:
        weight = times * np.exp(-exp(logarithm) * square)
        return not (square * weight).sum() > cap * weight.sum()

    return exp(narrow(is_less, inside=8.0, outside=-60.0, halvings=90).inside)


def _is_within(multiplier: Fraction, cap: Fraction, limit: int) -> bool:
    """Whether sum (x^2 - cap) w(x) <= 0, judged on the safe side by enclosures of _BITS bits.

    Weights by two multiplications each decide wherever the sum is not within the rounding of those enclosures.
    """
    p, q = cap.as_integer_ratio()
    weights = finite_noise.squared_weights(multiplier, limit, _BITS + 32)
    least = most = rounding = 0
    for x in range(limit + 1):
        gap, times = q * x * x - p, 2 if x else 1
        lower, upper = weights.lower[limit + x], weights.upper[limit + x]
        least += times * gap * (lower if gap > 0 else upper)
        most += times * gap * (upper if gap > 0 else lower)
        rounding += times * abs(gap)
    if least > 0:
        return False
    # An enclosure of _BITS bits is less than two units wide on each side.
    return most + (rounding << 34) <= 0 or _is_within_enclosed(multiplier, cap, limit)


def _is_within_enclosed(multiplier: Fraction, cap: Fraction, limit: int) -> bool:
    """The same, one exponential at a time."""
    total = -cap * exp_enclosure(Fraction(0), _BITS)[0]
    for x in range(1, limit + 1):
        lower, upper = exp_enclosure(-multiplier * x * x, _BITS)
        gap = x * x - cap
        total += 2 * gap * (upper if gap > 0 else lower)
    return total <= 0
