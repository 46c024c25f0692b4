"""Truncated discrete Laplace noise: P(x) proportional to exp(-rate |x|) on |x| <= limit.

Guarantee
    (epsilon, delta), epsilon = rate * l1 and delta = 1 - product over moved cells of (1 - P(noise > limit - s)): with
    probability delta the output cannot occur under the neighbour. One cell moved by one: delta = P(noise = limit).
    Outside that event every moved cell has a loss of at most rate * s, hence delta-approximate zero-concentrated with
    rho = sum of rate s tanh(rate s / 2).
Requires
    Integer answers; the moves of the cells, or their norms.
Noise
    Never farther than `limit` from the truth: a hard bound on the error, and on what stays hidden.
Evidence
    Proved; repeated exactly in tests/conformance/test_mechanisms.py.
References
    Rinott, O'Keefe, Shlomo & Skinner (2018), 5.2, with delta corrected for the total mass of impossible outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, inf, log
from typing import Any, ClassVar

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.calibrate import StatedFamily
from dalenius.core.conversions import pure_to_rho
from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import FloatArray, IntArray, WeightTable
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import exp_enclosure, round_up
from dalenius.core.search import smallest
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact import additive
from dalenius.exact.centred_noise import TOO_WIDE, ExponentialNoise, checked_rate
from dalenius.exact.sampling import ExactSampler
from dalenius.exact.wide_sampling import TruncatedSampler, is_served
from dalenius.spec.document import Exact, Part, Whole

_WIDEST_TABLE = 1 << 13
_LEAST_RATE = Fraction(1, 1 << 40)
_ONE_CELL = Sensitivity.of_patterns(((1,),))


class TruncatedLaplaceParameters(Part, section="[privacy.noise] of truncated_laplace"):
    """What a request may state: the limit, and the rate unless it is calibrated."""

    limit: Whole
    rate: Exact | None = None


@dataclass(frozen=True)
class TruncatedLaplace(ExponentialNoise):
    limit: int
    name: ClassVar[str] = "truncated_laplace"
    is_default: ClassVar[bool] = True
    Parameters: ClassVar[type[Part]] = TruncatedLaplaceParameters
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Rinott, O'Keefe, Shlomo & Skinner (2018), 5.2, corrected",))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checked_rate(self.rate))
        if isinstance(self.limit, bool) or not isinstance(self.limit, int) or self.limit < 1:
            raise ParameterError(f"limit must be an integer of at least 1; received {self.limit!r}.")
        if self.rate < _LEAST_RATE or self.limit > 1 << 61:
            raise TooLarge(TOO_WIDE)
        if self.limit > _WIDEST_TABLE and not is_served(self.rate, self.limit):
            # A law that no sampler serves does not exist, so that no plan can be charged for it.
            raise TooLarge("This noise is nearly uniform over a very long range; a larger epsilon is needed.")

    @classmethod
    def stated(cls, parameters: Any) -> "TruncatedLaplace | StatedFamily":
        limit, rate = parameters.limit, parameters.rate
        if rate is not None:
            return cls(rate=rate, limit=limit)
        return StatedFamily(cls.name, lambda size, _: cls(rate=size, limit=limit), cls.guesses)

    @property
    def support(self) -> tuple[int | None, int | None]:
        return (-self.limit, self.limit)

    @property
    def variance(self) -> float:
        """2 sum k^2 b^k over the total weight: in closed form, summed, or integrated, wherever each is accurate."""
        r, m = float(self.rate), self.limit
        if r * m > 40:
            b, gap, end = exp(-r), -expm1(-r), exp(-r * (m + 1))
            # Sum of k^2 b^k for k = 1..m, by differencing twice.
            rest = (m + 1) ** 2 / gap + (2 * m + 3) * b / gap**2 + 2 * b * b / gap**3
            return 2 * (b * (1 + b) / gap**3 - end * rest) / self._total
        if m <= 1 << 18:
            k = np.arange(1, m + 1, dtype=np.float64)
            w = np.exp(-r * k)
            return float(2 * (k * k * w).sum() / (1 + 2 * w.sum()))
        node, weight = np.polynomial.legendre.leggauss(80)
        u = (node + 1) / 2
        density = weight * np.exp(-r * (m + 0.5) * u)
        return float((m + 0.5) ** 2 * (u * u * density).sum() / density.sum())

    @property
    def _total(self) -> float:
        """Sum of the weights: 1 + 2 (b - b**(limit + 1)) / (1 - b)."""
        r, m = float(self.rate), self.limit
        return (-expm1(-r * (m + 1)) - exp(-r) * expm1(-r * m)) / -expm1(-r)

    def weights(self, bits: int) -> WeightTable:
        return additive.geometric_weights(self.rate, bits, self.limit)

    def log_pmf(self, k: IntArray) -> FloatArray:
        distance = np.abs(np.asarray(k, dtype=np.int64))
        inside = -float(self.rate) * distance.astype(np.float64) - log(self._total)
        return np.where(distance > self.limit, -np.inf, inside)

    def _beyond(self, distance: IntArray) -> FloatArray:
        r = float(self.rate)
        steps = np.clip(distance, 0, self.limit + 1).astype(np.float64)
        return np.exp(-r * steps) * np.expm1(-r * (self.limit + 1 - steps)) / (expm1(-r) * self._total)

    def exact_sampler(self) -> ExactSampler | None:
        return TruncatedSampler(self.rate, self.limit) if self.limit > _WIDEST_TABLE else None

    def impossible(self, sensitivity: Sensitivity) -> Fraction:
        """Probability of an output that cannot occur under the neighbour, rounded up; exact up to rounding."""
        worst = 1 - additive.least_product(additive.moves(sensitivity), lambda size: 1 - self._cell_delta(size))
        return worst if worst == 1 else round_up(worst, 10**40)

    def _cell_delta(self, size: int) -> Fraction:
        """P(noise > limit - size), rounded up; 1 where a cell moves by more than the limit."""
        if size > self.limit:
            return Fraction(1)
        narrowness = (self.rate.denominator // self.rate.numerator + 1).bit_length()
        bits = 192 + int(self.rate * (self.limit + 1) * 3 // 2) + 4 * narrowness
        bits = min(bits, 1 << 14)
        places = (1, self.limit - size + 1, self.limit + 1)
        step, reach, end = (exp_enclosure(-self.rate * x, bits) for x in places)
        return min(Fraction(1), Fraction(reach[1] - end[0], (1 << bits) + step[0] - 2 * end[1]))

    def profile(self, sensitivity: Sensitivity, relation: Relation) -> PrivacyProfile:
        epsilon, delta = self.rate * sensitivity.l1, self.impossible(sensitivity)
        rho = min(additive.worst_sum(sensitivity, lambda s: pure_to_rho(self.rate * s)), pure_to_rho(epsilon))
        return additive.assembled(
            self, sensitivity, relation, epsilon=epsilon, delta=delta, rho=rho, evidence=self.evidence
        )

    @classmethod
    def family(cls, size: Fraction, budget: Budget) -> "TruncatedLaplace":
        """The size is the rate; the limit is the shortest that keeps one moved cell within the budget's delta."""
        return cls.tailored(size, budget, _ONE_CELL)

    @classmethod
    def tailored(cls, size: Fraction, budget: Budget, sensitivity: Sensitivity) -> "TruncatedLaplace":
        """The shortest limit whose total delta, over all moved cells, is within the budget's."""
        if budget.delta is None:
            raise ParameterError("Truncated noise needs a budget with delta.", name="delta")
        largest = max((max(m, default=1) for m in additive.moves(sensitivity)), default=1)
        share = float(budget.delta) / max(sensitivity.l0, 1)
        b = exp(-float(size))
        first = log(max(share * (1 + b) / (1 - b + 2 * b * share), 1e-300)) / -float(size) if b < 1 else 0.0
        low, high = 0, max(ceil(first), 1) + largest
        while cls(rate=size, limit=high).impossible(sensitivity) > budget.delta:
            low, high = high, 2 * high
        low = max(low, min(largest, high) - 1)

        def fits(limit: int) -> bool:
            assert budget.delta is not None
            return cls(rate=size, limit=limit).impossible(sensitivity) <= budget.delta

        return cls(rate=size, limit=smallest(fits, low, high))

    @staticmethod
    def least_variance(sensitivity: Sensitivity, budget: Budget) -> float:
        """A variance that this noise needs at least: none is enough without a delta."""
        return 0.0 if budget.delta else inf

    @classmethod
    def guesses(cls, sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
        """epsilon / l1; under rho, the rate at which small losses spend it."""
        if budget.rho is not None and sensitivity.l2_squared:
            rate = Fraction((2 * float(budget.rho / sensitivity.l2_squared)) ** 0.5)
            return (additive.nice(rate), additive.nice(rate * Fraction(5, 4)))
        return () if budget.epsilon is None or not sensitivity.l1 else (budget.epsilon / sensitivity.l1,)
