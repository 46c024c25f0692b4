"""Propose, test, release with several bounds: the smallest that passes gives the noise, or there is no reply.

Guarantee
    (test + epsilon, delta)-DP for the whole outcome, which bound passed and the answer, however many bounds there are.
    All tests share one noise, and the first bound whose distance plus noise is above its threshold answers: the noise
    then lies in an interval of at least `spacing` whole numbers, whose ends move by at most one each. Where a record
    moves the answer by more than a bound, the distances up to that bound are zero and one of them passes with
    probability at most delta. Proof: docs/reference/measurements/cascade.md.
Requires
    A distance for each bound that is zero wherever a record can move the answer by more, and differs by at most one
    between neighbours; bounds that are public.
Noise
    Two-sided geometric, one of all tests together and one of the answer at the bound that passed. The law of an answer
    is public.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data, tests/measurements/test_cascade.py.
References
    Dwork & Lei (2009); Dwork & Smith (2010) 3.2. Tests with noise of their own lose one by one; a noisy threshold and
    noisy tests (Dwork & Roth 2014, AboveThreshold) lose three times as much as one test at the same noise, and here
    little more than one.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import expm1, log
from typing import ClassVar

import numpy as np

from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import CASCADE, Additive, IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.rationals import exp_lower, exp_upper, plain
from dalenius.core.release import Block, NoReply, Outcome, Value
from dalenius.errors import ParameterError
from dalenius.measurements._distance_test import BoundedStep, DistanceStatistic, least_threshold, sure_distance
from dalenius.measurements._example import MeasurementExample, on_values
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

__all__ = ["Cascade", "DistanceStatistic"]

MOST_BOUNDS = 12
# Shares of the tests' loss that go to the noise itself are multiples of one over this; the rest pays for several
# bounds.
_SHARES = 64


@dataclass(frozen=True, kw_only=True)
class Cascade(BoundedStep):
    """statistic + noise at the first `bounds` that passes; `test` and `epsilon` are what tests and answer lose."""

    bounds: tuple[int, ...]
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Dwork & Lei (2009)", "Dwork & Smith (2010) 3.2"))

    def __post_init__(self) -> None:
        if not 2 <= len(self.bounds) <= MOST_BOUNDS:
            raise ParameterError(
                f"bounds are two to {MOST_BOUNDS} rising numbers; received {len(self.bounds)}.", name="bounds"
            )
        if self.bounds[0] < 1 or any(low >= high for low, high in pairwise(self.bounds)):
            raise ParameterError("bounds rise, by at least one declared step each, from one step on.", name="bounds")
        super().__post_init__()

    @property
    def rate(self) -> Fraction:
        return ladder(self.test, self.delta, len(self.bounds))[0]

    @property
    def spacing(self) -> int:
        return ladder(self.test, self.delta, len(self.bounds))[1]

    @property
    def thresholds(self) -> tuple[int, ...]:
        """One for each bound; the last is the least that noise alone exceeds with probability at most delta."""
        last, many = least_threshold(self.rate, self.delta), len(self.bounds)
        return tuple(last + (many - 1 - place) * self.spacing for place in range(many))

    @property
    def sure(self) -> tuple[int, ...]:
        """For each bound the least distance at which it, or a smaller one, passes with 99 % probability."""
        return tuple(sure_distance(self.rate, threshold) for threshold in self.thresholds)

    @property
    def laws(self) -> tuple[Additive, ...]:
        return tuple(Additive(mechanism, self.step) for mechanism in self.mechanisms)

    @property
    def law(self) -> Joint:
        bounds, laws = [plain(bound * self.step) for bound in self.bounds], [law.to_dict() for law in self.laws]
        test = Additive(DiscreteLaplace(self.rate)).to_dict()
        return Joint(CASCADE, {"bounds": bounds, "laws": laws, "thresholds": list(self.thresholds), "test": test})

    @property
    def _bounds(self) -> tuple[int, ...]:
        return self.bounds

    def _tests(self) -> tuple[Fraction, tuple[int, ...]]:
        return self.rate, self.thresholds

    def _told(self, answer: IntArray, place: int) -> Value:
        return Value(np.append(answer, [place]).astype(np.int64))

    def block(self, outcome: Value) -> Block:
        """The answer, over a one-cell space, with the law of the bound that passed."""
        place = int(outcome.values[1])
        parameters = {"bound": plain(self.bounds[place] * self.step)}
        return replace(super().block(outcome), law=self.laws[place], parameters=parameters)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        def told(outcome: Outcome) -> list[int]:
            # As one number, because no reply is one.
            return [] if isinstance(outcome, NoReply) else [2 * int(outcome.values[0]) + int(outcome.values[1])]

        return (on_values(cls.of_median(neighbours, bounds=(1, 2)), told=told),)


@lru_cache(maxsize=256)
def ladder(test: Fraction, delta: Fraction, many: int) -> tuple[Fraction, int]:
    """The rate of the shared noise and the spacing that lose at most `test`, with the shortest mean distance."""
    ladders: list[tuple[float, Fraction, int]] = []
    # Of whole numbers, because a delta below all doubles is one that a request may write.
    reach = log(50 * delta.denominator) - log(delta.numerator)
    for part in range(1, _SHARES):
        rate = test * part / _SHARES
        spacing = least_spacing(test, rate)
        ladders.append((reach / float(rate) + (many - 1) / 2 * spacing, rate, spacing))
    return min(ladders)[1:]


def least_spacing(test: Fraction, rate: Fraction) -> int:
    """The least spacing at which tests that share noise of a rate lose at most `test` together."""
    rest = expm1(float(test - rate))
    spacing = max(int(log((rest - expm1(-2 * float(rate))) / rest) / float(rate)) - 1, 1)
    while loss_factor(rate, spacing) * exp_upper(rate - test) > 1:
        spacing += 1
    return spacing


def loss_factor(rate: Fraction, spacing: int) -> Fraction:
    """No less than (1 - a^(spacing + 2)) / (1 - a^spacing) with a = exp(-rate)."""
    power = exp_upper(-rate * spacing)
    return 1 + (1 - exp_lower(-2 * rate)) * power / (1 - power)
