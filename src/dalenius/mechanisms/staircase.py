"""Discrete staircase noise: flat steps of the width of the sensitivity.

Guarantee
    Pure: a cell that moves by s loses at most epsilon * ceil(s / width). On [k width, (k+1) width) the weight is
    exp(-epsilon k) for the first `gap` integers and exp(-epsilon (k+1)) for the rest, and the law is symmetric, so a
    move of at most `width` passes at most one step.
Requires
    Integer answers. For answers that move by one it is the discrete Laplace law; it pays where one cell moves by more.
Noise
    Less variance than discrete Laplace noise at the same epsilon, the more so the larger epsilon is.
Evidence
    Proved; repeated exactly in tests/conformance/test_mechanisms.py.
References
    Geng & Viswanath (2016), with integer steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, log
from operator import attrgetter
from typing import ClassVar

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.conversions import pure_to_rho
from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import FloatArray, IntArray, WeightTable
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import exp_enclosure, rational
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact import additive
from dalenius.exact.centred_noise import NoiseWithTails

_MOST_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Staircase(NoiseWithTails):
    epsilon: Fraction
    width: int = 1
    gap: int = 1
    name: ClassVar[str] = "staircase"
    is_default: ClassVar[bool] = False
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Geng & Viswanath (2016)",))

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "width", int(self.width))
        object.__setattr__(self, "gap", int(self.gap))
        _check_epsilon(self.epsilon)
        if not 1 <= self.gap <= self.width:
            raise ParameterError(f"gap must lie between 1 and width = {self.width}; received {self.gap}.")
        if self._steps(256) * self.width > _MOST_ENTRIES:
            raise TooLarge("This staircase is too wide for a table; use discrete_laplace.")

    def _steps(self, bits: int) -> int:
        return int(Fraction(bits) / self.epsilon) + 2

    def _level(self, x: int) -> int:
        step, place = divmod(abs(x), self.width)
        return step + (place >= self.gap)

    def _floats(self) -> tuple[FloatArray, FloatArray]:
        """Values from zero up and their probabilities, the negative ones left out."""
        count = (ceil(48 / float(self.epsilon)) + 2) * self.width
        x = np.arange(count)
        weight = np.exp(-float(self.epsilon) * (x // self.width + (x % self.width >= self.gap)))
        return x.astype(np.float64), weight / (2 * weight.sum() - 1)

    @property
    def variance(self) -> float:
        x, p = self._floats()
        return float(2 * (x * x * p).sum())

    def weights(self, bits: int) -> WeightTable:
        """One weight for each step, repeated; what lies beyond the table is a geometric sum."""
        steps = self._steps(bits)
        if steps * self.width > 4 * _MOST_ENTRIES:
            raise TooLarge("This staircase is too wide for a table; use discrete_laplace.")
        levels = [exp_enclosure(-self.epsilon * k, bits) for k in range(steps + 1)]
        right = [levels[self._level(x)] for x in range(steps * self.width)]
        lower, upper = [w[0] for w in right], [w[1] for w in right]
        # Beyond the table each step weighs at most width * exp(-epsilon k), k from `steps` on.
        rest = self.width * exp_enclosure(-self.epsilon * steps, bits)[1]
        outside = -(-(rest << bits) // ((1 << bits) - exp_enclosure(-self.epsilon, bits)[1]))
        return WeightTable(bits, 1 - len(right), lower[:0:-1] + lower, upper[:0:-1] + upper, outside, outside)

    def log_pmf(self, k: IntArray) -> FloatArray:
        x = np.abs(np.asarray(k, dtype=np.int64))
        level = x // self.width + (x % self.width >= self.gap)
        # Zero is counted once.
        return -float(self.epsilon) * level.astype(np.float64) - log(2 * self._one_side - 1)

    @property
    def _one_side(self) -> float:
        """The weight of zero and all above: (gap + (width - gap) b) / (1 - b) with b = exp(-epsilon)."""
        e = float(self.epsilon)
        return (self.gap + (self.width - self.gap) * exp(-e)) / -expm1(-e)

    def _beyond(self, distance: IntArray) -> FloatArray:
        """P(noise >= distance), distance >= 1: what is left of its step, and all later steps."""
        e = float(self.epsilon)
        step, place = np.divmod(np.maximum(distance, 1), self.width)
        high, low = np.maximum(self.gap - place, 0), self.width - np.maximum(place, self.gap)
        weight = high + exp(-e) * (low + self._one_side)
        return np.asarray(np.exp(-e * step.astype(np.float64)) * weight / (2 * self._one_side - 1))

    def log_weight(self) -> tuple[Fraction, Callable[[int], int]]:
        return self.epsilon, lambda x: -self._level(x)

    def largest_loss(self, size: int) -> Fraction:
        return self.epsilon * -(-abs(size) // self.width)

    def profile(self, sensitivity: Sensitivity, relation: Relation) -> PrivacyProfile:
        moves = sensitivity.patterns
        if moves is None:
            cells = min(Fraction(sensitivity.l0), sensitivity.l1)
            most = min(cells * ceil(sensitivity.linf / self.width), sensitivity.l1 / self.width + cells)
            epsilon = self.epsilon * most
            rho = pure_to_rho(epsilon)
        else:
            epsilon = additive.largest_sum(moves, self.largest_loss)
            rho = additive.largest_sum(moves, lambda s: pure_to_rho(self.largest_loss(s)))
        rho = min(rho, pure_to_rho(epsilon))
        return PrivacyProfile(relation=relation, epsilon=epsilon, rho=rho, evidence=self.evidence)

    @classmethod
    def family(cls, size: Fraction, budget: Budget) -> "Staircase":
        return cls(epsilon=size)

    @classmethod
    def tailored(cls, size: Fraction, budget: Budget, sensitivity: Sensitivity) -> "Staircase":
        """Steps as wide as one cell can move, falling where the variance is least."""
        width = max(1, ceil(sensitivity.linf))
        _check_epsilon(size)
        members = (cls(epsilon=size, width=width, gap=g) for g in _gaps(width, float(size)))
        return min(members, key=attrgetter("variance"))

    @classmethod
    def guesses(cls, sensitivity: Sensitivity, budget: Budget) -> Sequence[Fraction]:
        """epsilon over the number of cells that can move by so much."""
        if budget.epsilon is None or not sensitivity.l1:
            return ()
        widths = additive.largest_sum(additive.moves(sensitivity), lambda s: Fraction(ceil(s / sensitivity.linf)))
        return (budget.epsilon / max(widths, Fraction(1)),)


def _check_epsilon(epsilon: Fraction) -> None:
    if not Fraction(1, 10**4) <= epsilon <= 10**4:
        raise ParameterError(f"epsilon must lie between 0.0001 and 10000; received {epsilon}.")


def _gaps(width: int, epsilon: float) -> Sequence[int]:
    """Gaps near the variance-optimal one of the continuous law; all of them for narrow steps."""
    if width <= 16:
        return range(1, width + 1)
    b = exp(-min(epsilon, 50.0))
    best = -b / (1 - b) + (b - 2 * b**2 + 2 * b**4 - b**5) ** (1 / 3) / (2 ** (1 / 3) * (1 - b) ** 2)
    # Rounding may carry the optimum of very wide steps outside them; the nearest end is then tried.
    near = min(max(round(best * width), -1), width + 2)
    return range(max(1, near - 2), min(width, near + 2) + 1)
