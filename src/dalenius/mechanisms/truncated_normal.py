"""Truncated discretised normal noise: P(x) proportional to exp(-rate x^2) on |x| <= limit.

Guarantee
    (epsilon, delta) with epsilon = rate * (2 limit s - s^2) for a cell that moves by s (the largest finite loss) and
    delta the mass of the last s values, both exact; the whole curve delta(epsilon) is exact where the moves are listed.
Requires
    Integer answers; the moves of the cells, or their norms.
Noise
    Never farther than `limit` from the truth. `of_paper(epsilon, limit)` is the exponential mechanism with
    squared-error utility of the frequency-table paper, rate = epsilon / (2 limit + 1); `of_variance(sigma_squared,
    limit)` has rate = 1 / (2 sigma_squared), and is judged by its exact curve.
Evidence
    Proved; repeated exactly in tests/conformance/test_mechanisms.py.
References
    Rinott, O'Keefe, Shlomo & Skinner (2018), 5.2 (5.3), whose utility sensitivity 2m+1 is loose: 2m-1 suffices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, log, log1p, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import model_validator

from dalenius import limits
from dalenius.core.budget import Budget
from dalenius.core.calibrate import StatedFamily
from dalenius.core.evidence import Evidence, Level
from dalenius.core.rationals import rational
from dalenius.core.search import smallest
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DocumentError, ParameterError
from dalenius.exact import additive, finite_noise
from dalenius.exact.centred_noise import checked_rate
from dalenius.spec.document import Exact, Part, Whole

_NEAR = Fraction(99, 100)
_EDGE = 1e-6
_ONE_CELL = Sensitivity.of_patterns(((1,),))


class TruncatedNormalParameters(Part, section="[privacy.noise] of truncated_normal"):
    """What a request may state: the limit, and epsilon as in the paper, or the variance of the law that is cut."""

    limit: Whole
    epsilon: Exact | None = None
    sigma_squared: Exact | None = None

    @model_validator(mode="after")
    def _is_one_law(self) -> Self:
        if self.epsilon is not None and self.sigma_squared is not None:
            raise DocumentError("State epsilon or sigma_squared of truncated_normal; each fixes the rate.")
        return self


@dataclass(frozen=True)
class TruncatedNormal(finite_noise.SquaredExponential):
    rate: Fraction
    limit: int
    name: ClassVar[str] = "truncated_normal"
    is_default: ClassVar[bool] = False
    Parameters: ClassVar[type[Part]] = TruncatedNormalParameters
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Rinott, O'Keefe, Shlomo & Skinner (2018), 5.2, corrected",))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checked_rate(self.rate))
        object.__setattr__(self, "limit", int(self.limit))
        finite_noise.check_limit(self.limit)

    @classmethod
    def of_paper(cls, epsilon: object, limit: int) -> "TruncatedNormal":
        """The paper's calibration: rate = epsilon / (2 limit + 1)."""
        return cls(rate=rational(epsilon, "epsilon") / (2 * limit + 1), limit=limit)

    @classmethod
    def of_variance(cls, sigma_squared: object, limit: int) -> "TruncatedNormal":
        """By the variance of the normal law that is cut: rate = 1 / (2 sigma_squared)."""
        return cls(rate=1 / (2 * rational(sigma_squared, "sigma_squared")), limit=limit)

    @classmethod
    def stated(cls, parameters: Any) -> "TruncatedNormal | StatedFamily":
        limit = parameters.limit
        if parameters.epsilon is not None:
            return cls.of_paper(parameters.epsilon, limit)
        if parameters.sigma_squared is not None:
            return cls.of_variance(parameters.sigma_squared, limit)

        def near(sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
            if budget.epsilon is None or not sensitivity.l1:
                return cls.guesses(sensitivity, budget)
            return (budget.epsilon / (sensitivity.l1 * max(2 * limit - 1, 1)),)

        return StatedFamily(cls.name, lambda size, _: cls(rate=size, limit=limit), near)

    @property
    def decay(self) -> Fraction:
        return self.rate

    @classmethod
    def family(cls, size: Fraction, budget: Budget) -> "TruncatedNormal":
        """The size is the rate; the limit is the shortest that keeps one moved cell within the budget's delta."""
        return cls.tailored(size, budget, _ONE_CELL)

    @classmethod
    def tailored(cls, size: Fraction, budget: Budget, sensitivity: Sensitivity) -> "TruncatedNormal":
        """The shortest limit whose mass of impossible outputs is within half of the budget's delta.

        The other half is left for losses above epsilon near the ends of the range.
        """
        if budget.delta is None:
            raise ParameterError("Truncated noise needs a budget with delta.", name="delta")
        moves = additive.moves(sensitivity)
        largest = max((max(m, default=1) for m in moves), default=1)
        cells = max(sensitivity.l0, 1)
        most = max(int(sqrt(max(-log(float(budget.delta) / cells) / float(size), 0.0))) + 2 * largest, largest)

        def fits(m: int) -> bool:
            assert budget.delta is not None
            # Away from the edge floats are certain to decide as exact masses would; the law itself is judged exactly.
            ratio = _failing(float(size), m, moves) / float(budget.delta / 2)
            if abs(ratio - 1) > _EDGE:
                return ratio < 1
            member = cls(rate=size, limit=m)
            kept = additive.least_product(moves, lambda size: 1 - finite_noise.impossible(member, size))
            return 1 - kept <= budget.delta / 2

        finite_noise.check_limit(most)
        low, high = largest - 1 if largest > 1 else 0, most
        # Floats say where to look, exact masses decide.
        near, reach = max(_near(float(size), most, moves, float(budget.delta) / 2), low + 1), 1
        if near < most:
            high = near
        while not fits(high):
            low, high, reach = high, high + reach, 2 * reach
        near, reach = high - 1, 1
        while near > low and fits(near):
            high, near, reach = near, max(near - reach, low), 2 * reach
        return cls(rate=size, limit=smallest(fits, max(low, near), high))

    @classmethod
    def guesses(cls, sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
        """Rates at which the largest finite loss of the worst move is epsilon, or rho that of the normal law."""
        if budget.rho is not None and sensitivity.l2_squared:
            return [additive.nice(budget.rho / sensitivity.l2_squared * f) for f in (_NEAR, 1, 2 - _NEAR)]
        if budget.epsilon is None or budget.delta is None or not sensitivity.l1:
            return ()
        need = log(2 * max(sensitivity.l0, 1) / float(budget.delta))
        rate = float(budget.epsilon / sensitivity.l1) ** 2 / (4 * need)
        return [additive.nice(Fraction(rate * f)) for f in (0.5, 1.0, 1.5)]


def _near(rate: float, most: int, moves: tuple[tuple[int, ...], ...], delta: float) -> int:
    """About the shortest limit at which no move fails more often than delta."""
    listed, _, counts = additive.tallied_moves(moves)
    sizes = np.array(listed, dtype=np.int64)
    x = np.arange(most + 1, dtype=np.float64)
    weight = np.exp(-rate * x * x)
    half = np.cumsum(weight)
    for limit in range(1, most + 1):
        # Quick to leave: the mass at the end alone is above delta for nearly all limits that are too short.
        total = 2 * half[limit] - 1
        if weight[limit] > delta * total:
            continue
        ends = half[limit] - np.where(sizes <= limit, half[np.maximum(limit - sizes, 0)], 0.0)
        if float((counts @ ends).max(initial=0.0)) <= delta * total:
            return limit
    return most


def _failing(rate: float, limit: int, moves: tuple[tuple[int, ...], ...]) -> float:
    """About the largest mass that a move makes impossible, to many more digits than the edge is wide."""
    limits.spend(limit // 8)
    x = np.arange(limit + 1, dtype=np.float64)
    weight = np.exp(-rate * x * x)
    # Summed from the faint end, so that the small masses keep their digits.
    ends = np.cumsum(weight[::-1])
    whole = 2 * float(ends[-1]) - 1

    def share(size: int) -> float:
        inside = ends[size - 1] if size <= limit else whole - ends[2 * limit - size] if size <= 2 * limit else whole
        return float(inside) / whole

    sizes, _, counts = additive.tallied_moves(moves)
    logs = counts @ np.array([-log1p(-min(share(size), 1 - 1e-15)) for size in sizes])
    return -expm1(-float(logs.max(initial=0.0)))
