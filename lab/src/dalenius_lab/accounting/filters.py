"""Filters: stop before a budget is exceeded, when each step may be chosen after seeing all earlier answers.

Guarantee
    A sequence of steps, each admitted by the filter before it is run, satisfies the filter's own statement as a
    whole, however the steps and their parameters were chosen from earlier answers.
Requires
    The budget is fixed in advance. A step's cost is charged before its answer is seen, and is never given back.
Noise
    None of its own.
Evidence
    Pure and zero-concentrated: exp((a-1) loss - a(a-1) sum of rho) is a supermartingale for every order a, so stopping
    before the sum exceeds rho keeps every divergence below a rho. Approximate zero-concentrated and (epsilon, delta):
    quoted from the literature. Loss distributions have no such filter: composing curves until a target is crossed
    is known to be invalid, so they serve batches only (`batch.py`).
References
    Rogers, Roth, Ullman & Vadhan (2016); Feldman & Zrnic (2021); Whitehouse, Ramdas, Rogers & Wu (2023).
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from dalenius.core.budget import Cost
from dalenius.core.conversions import rho_to_epsilon
from dalenius.core.rationals import log_upper, plain, sqrt_upper
from dalenius.errors import BudgetExhausted, ParameterError, Unsupported


def _refuse(name: str) -> BudgetExhausted:
    return BudgetExhausted(f"The {name} filter cannot admit this step.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PureFilter:
    """Sum of epsilons."""

    epsilon: Fraction
    spent: Fraction = Fraction(0)

    def admits(self, cost: Cost) -> bool:
        """Whether the step still fits; a step that is not pure never does."""
        return cost.epsilon is not None and self.spent + cost.epsilon <= self.epsilon

    def spend(self, cost: Cost) -> "PureFilter":
        """The filter after the step; refuses what does not fit."""
        if cost.epsilon is None or not self.admits(cost):
            raise _refuse("pure")
        return replace(self, spent=self.spent + cost.epsilon)

    def guarantee(self) -> tuple[Fraction, Fraction]:
        """(epsilon, delta) of everything that was admitted or ever will be."""
        return self.epsilon, Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroConcentratedFilter:
    """Sums of rho and of delta: the rule of the master account."""

    rho: Fraction
    delta: Fraction = Fraction(0)
    spent_rho: Fraction = Fraction(0)
    spent_delta: Fraction = Fraction(0)

    def admits(self, cost: Cost) -> bool:
        """Whether the step still fits."""
        return self.spent_rho + cost.rho <= self.rho and self.spent_delta + cost.delta <= self.delta

    def spend(self, cost: Cost) -> "ZeroConcentratedFilter":
        """The filter after the step; refuses what does not fit."""
        if not self.admits(cost):
            raise _refuse("zero-concentrated")
        return replace(self, spent_rho=self.spent_rho + cost.rho, spent_delta=self.spent_delta + cost.delta)

    def guarantee(self, delta: Fraction) -> tuple[Fraction, Fraction]:
        """(epsilon, delta) of everything, where the given delta holds the failures as well."""
        if delta <= self.delta:
            raise ParameterError(f"delta must be greater than {plain(self.delta)}; received {plain(delta)}.")
        return rho_to_epsilon(self.rho, delta - self.delta), delta


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateFilter:
    """For (epsilon_i, delta_i) steps: sqrt(2 log(1/slack) S) + S/2 <= epsilon with S the sum of epsilon_i squared,
    and sum of delta_i + slack <= delta.
    """

    epsilon: Fraction
    delta: Fraction
    slack: Fraction
    squares: Fraction = Fraction(0)
    spent_delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 < self.slack <= self.delta < 1:
            raise ParameterError("The slack must be greater than 0 and at most delta, which is less than 1.")

    def _next(self, epsilon: Fraction, delta: Fraction) -> "ApproximateFilter":
        return replace(self, squares=self.squares + epsilon**2, spent_delta=self.spent_delta + delta)

    @property
    def bound(self) -> Fraction:
        """epsilon reached so far, rounded up."""
        return sqrt_upper(2 * log_upper(1 / self.slack) * self.squares) + self.squares / 2

    @property
    def holds(self) -> bool:
        """Whether what was spent is within the budget."""
        return self.bound <= self.epsilon and self.spent_delta + self.slack <= self.delta

    def admits(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> bool:
        """Whether the step still fits."""
        if min(epsilon, delta) < 0:
            raise Unsupported("A privacy loss is never negative.")
        return self._next(epsilon, delta).holds

    def spend(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> "ApproximateFilter":
        """The filter after the step; refuses what does not fit."""
        if not self.admits(epsilon, delta):
            raise _refuse("(epsilon, delta)")
        return self._next(epsilon, delta)

    def guarantee(self) -> tuple[Fraction, Fraction]:
        """(epsilon, delta) of everything that was admitted or ever will be."""
        return self.epsilon, self.delta
