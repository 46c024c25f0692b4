"""The exponential mechanism for any integer table of losses: P(x) proportional to exp(-rate * loss(x)), |x| <= limit.

Guarantee
    (epsilon, delta), exact for every table: epsilon is the largest difference of two losses that a move of the cell can
    swap, times the rate; delta is the mass of the values that become impossible. Every smaller move is examined too,
    because a table need not grow with |x|.
Requires
    Non-negative integer losses for x = -limit, …, limit, below 2^16 each.
Noise
    `of(rate, losses)` takes the table. It is carried as one integer, sixteen bits for each entry, so that the law is
    rebuilt from exact numbers.
Evidence
    Proved by enumeration of the table; repeated exactly in tests/conformance/test_mechanisms.py.
References
    McSherry & Talwar (2007); Rinott et al. (2018), Theorem 4.2, corrected for the total mass of impossible outputs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log
from typing import Any, ClassVar

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.calibrate import StatedFamily
from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import FloatArray, IntArray, WeightTable
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import rational
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.exact import finite_noise
from dalenius.exact.centred_noise import checked_rate
from dalenius.spec.document import Exact, Part, Whole

_WORD = 16
_MOST_LIMIT = 1000


class CustomUtilityParameters(Part, section="[privacy.noise] of custom_utility"):
    """What a request may state: the losses of -limit, …, limit, and the rate unless it is calibrated."""

    losses: tuple[Whole, ...]
    rate: Exact | None = None


@dataclass(frozen=True)
class CustomUtility:
    """P(x) proportional to exp(-rate * loss(x)); `packed` holds the losses from -limit to limit."""

    rate: Fraction
    limit: int
    packed: int
    name: ClassVar[str] = "custom_utility"
    is_default: ClassVar[bool] = False
    Parameters: ClassVar[type[Part]] = CustomUtilityParameters
    evidence: ClassVar[Evidence] = Evidence(Level.ENUMERATED, ("McSherry & Talwar (2007)",))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checked_rate(self.rate))
        object.__setattr__(self, "limit", int(self.limit))
        object.__setattr__(self, "packed", int(self.packed))
        if not 1 <= self.limit <= _MOST_LIMIT:
            raise ParameterError(f"limit must lie between 1 and {_MOST_LIMIT}; received {self.limit}.")
        if not 0 <= self.packed < 1 << (_WORD * (2 * self.limit + 1)):
            raise ParameterError("packed does not hold one loss below 2^16 for each value.")

    @classmethod
    def of(cls, rate: object, losses: Sequence[int]) -> "CustomUtility":
        if len(losses) % 2 == 0 or any(not 0 <= u < 1 << _WORD for u in losses):
            raise ParameterError("Give an odd number of integer losses, each from 0 to 65535.")
        packed = sum(int(u) << (_WORD * i) for i, u in enumerate(losses))
        return cls(rate=rational(rate, "rate"), limit=len(losses) // 2, packed=packed)

    @classmethod
    def stated(cls, parameters: Any) -> "CustomUtility | StatedFamily":
        unit = cls.of(1, parameters.losses)
        if parameters.rate is not None:
            return replace(unit, rate=parameters.rate)

        def neighbours(sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
            if budget.epsilon is None or not sensitivity.l1:
                return ()
            return (budget.epsilon / (sensitivity.l1 * max(unit.largest_loss(1), Fraction(1))),)

        return StatedFamily(cls.name, lambda size, _: replace(unit, rate=size), neighbours)

    @cached_property
    def losses(self) -> tuple[int, ...]:
        mask = (1 << _WORD) - 1
        return tuple((self.packed >> (_WORD * i)) & mask for i in range(2 * self.limit + 1))

    @property
    def is_symmetric(self) -> bool:
        return self.losses == self.losses[::-1]

    @property
    def parameters(self) -> Mapping[str, Fraction | int]:
        return {"rate": self.rate, "limit": self.limit, "packed": self.packed}

    @property
    def support(self) -> tuple[int | None, int | None]:
        return (-self.limit, self.limit)

    def _pmf(self) -> tuple[FloatArray, FloatArray]:
        x = np.arange(-self.limit, self.limit + 1, dtype=np.float64)
        least = min(self.losses)
        weight = np.exp(-float(self.rate) * (np.array(self.losses, dtype=np.float64) - least))
        return x, weight / weight.sum()

    @property
    def mean(self) -> float:
        x, p = self._pmf()
        return 0.0 if self.is_symmetric else float((x * p).sum())

    @property
    def variance(self) -> float:
        x, p = self._pmf()
        return float(((x - self.mean) ** 2 * p).sum())

    def weights(self, bits: int) -> WeightTable:
        least = min(self.losses)
        keys = [least - u for u in self.losses]
        return finite_noise.exponential_weights(self.rate, keys, -self.limit, bits)

    def log_pmf(self, k: IntArray) -> FloatArray:
        _, p = self._pmf()
        index = np.asarray(k, dtype=np.int64) + self.limit
        inside = np.log(p)[np.clip(index, 0, len(p) - 1)]
        return np.where((index < 0) | (index >= len(p)), -np.inf, inside)

    def log_weight(self) -> tuple[Fraction, Callable[[int], int]]:
        return self.rate, lambda x: -self.losses[x + self.limit]

    def largest_loss(self, size: int) -> Fraction:
        return finite_noise.largest_finite_loss(self, abs(size))

    def profile(self, sensitivity: Sensitivity, relation: Relation) -> PrivacyProfile:
        return finite_noise.profile(self, sensitivity, relation, self.evidence, is_log_concave=False)

    @classmethod
    def family(cls, size: Fraction, budget: Budget) -> "CustomUtility":
        """Absolute error as the loss: the member that a caller without a table gets."""
        if budget.delta is None:
            raise ParameterError("Noise on a finite range needs a budget with delta.", name="delta")
        limit = max(1, ceil(-log(float(budget.delta)) / float(size)) + 1)
        if limit > _MOST_LIMIT:
            raise ParameterError(f"This budget needs a range of {limit}; at most {_MOST_LIMIT} is served.")
        return cls.of(size, [abs(x) for x in range(-limit, limit + 1)])

    @classmethod
    def guesses(cls, sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
        return () if budget.epsilon is None or not sensitivity.l1 else (budget.epsilon / sensitivity.l1,)
