"""What tests of a proposed bound share: a statistic with a distance, and thresholds that noise alone seldom passes."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, exp, log
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from dalenius.core.evidence import Evidence
from dalenius.core.integer_law import Branches, ExactLaw, Noised
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import exp_lower, exp_upper
from dalenius.core.release import NoReply, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.ideal_rounding import saturated
from dalenius.exact.sampling import sample
from dalenius.measurements._example import MEDIAN
from dalenius.measurements._steps import StatisticStep, ValueStatistic
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace


class DistanceStatistic(ValueStatistic, Protocol):
    """A statistic with the distance to data that a record moves by more than a bound."""

    def distance(self, values: Any, bound: int, neighbours: Neighbours) -> int:
        """Zero where a unit can move the answer by more than the bound; differs by at most one between neighbours."""


@dataclass(frozen=True, kw_only=True)
class BoundedStep(StatisticStep):
    """An answer if a private test lets it pass; `test` and `epsilon` are what the test and the answer lose."""

    name: str
    statistic: DistanceStatistic
    test: Fraction
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    step: Fraction = Fraction(1)
    evidence: ClassVar[Evidence]

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ParameterError("Propose-test-release needs a delta between 0 and 1.", name="delta")
        _check_rows(self.neighbours)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        _check_rows(neighbours)
        epsilon = self.test + self.epsilon
        return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, delta=self.delta, evidence=self.evidence)

    @property
    @abstractmethod
    def _bounds(self) -> tuple[int, ...]:
        """Rising, one for each test."""

    @abstractmethod
    def _tests(self) -> tuple[Fraction, tuple[int, ...]]:
        """The rate of the noise that all tests share, and the threshold of each."""

    @abstractmethod
    def _told(self, answer: IntArray, place: int) -> Value:
        """What is released of an answer at the bound that passed."""

    @property
    def mechanisms(self) -> tuple[DiscreteLaplace, ...]:
        return tuple(DiscreteLaplace(self.epsilon / bound) for bound in self._bounds)

    def distances(self, values: Any) -> tuple[int, ...]:
        """Of each bound; a larger bound has at least the distance of a smaller one."""
        distances = (self.statistic.distance(values, bound, self.neighbours) for bound in self._bounds)
        return tuple(accumulate(distances, max))

    def passed(self, distances: Sequence[int]) -> tuple[float, ...]:
        """The probability that each bound is the one that passes, and at the end that of no reply."""
        rate, thresholds = self._tests()
        pairs = zip(thresholds, distances, strict=True)
        reached = [above(rate, threshold - distance) for threshold, distance in pairs]
        return tuple(high - low for low, high in pairwise([0.0, *reached, 1.0]))

    def draw(self, rng: RandomSource) -> tuple[int, tuple[int, ...]]:
        tested = int(sample(DiscreteLaplace(self._tests()[0]), 1, rng)[0])
        return tested, tuple(int(sample(mechanism, 1, rng)[0]) for mechanism in self.mechanisms)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        values, (tested, noises) = exact[0].open_below_the_gate(), drawn
        answer, (_, thresholds) = self.statistic.value(values), self._tests()
        for place, distance in enumerate(self.distances(values)):
            if distance + tested > thresholds[place]:
                return self._told(np.array([saturated(answer + noises[place])], dtype=np.int64), place)
        return NoReply()

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """No reply, or the place of a bound and the statistic plus its noise. Guards: all noises of the tests one by
        one, tests/measurements/test_cascade.py and tests/methods/test_propose_test_release.py, and drawn answers.
        """
        answer, silent = int(self.statistic.value(content[0])), len(self._bounds)
        then: dict[Hashable, tuple[Noised, ...]] = {
            place: (Noised([answer], [mechanism]),) for place, mechanism in enumerate(self.mechanisms)
        }

        def outcome(place: Any, values: IntArray) -> Outcome:
            return NoReply() if place == silent else self._told(values, place)

        chances = self.passed(self.distances(content[0]))
        return (Branches(dict(enumerate(chances)), {**then, silent: ()}, outcome),)

    @classmethod
    def of_median(cls, neighbours: Neighbours, **bounds: Any) -> Self:
        one, delta = Fraction(1), Fraction(1, 4)
        return cls(name="median", statistic=MEDIAN, test=one, epsilon=one, delta=delta, neighbours=neighbours, **bounds)


def _check_rows(neighbours: Neighbours) -> None:
    if neighbours.max_rows > 1:
        raise Unsupported("Propose-test-release is for one row to a unit.")


def least_threshold(rate: Fraction, delta: Fraction) -> int:
    """The least distance that two-sided geometric noise alone, from zero, exceeds with probability at most delta."""
    # As many digits as a small delta needs.
    bits = 96 + delta.denominator.bit_length()
    # Of a two-sided geometric law with base a, P(noise > t) = a^(t + 1) / (1 + a), which rises with a.
    most = delta * (1 + exp_lower(-rate))
    start = (log(delta.denominator) - log(delta.numerator)) / float(rate)
    power = max(ceil(start) - 3, 0)
    while exp_upper(-rate * (power + 1), bits) > most:
        power += 1
    return power


def above(rate: Fraction, threshold: int) -> float:
    """P(noise > threshold) of two-sided geometric noise."""
    base = exp(-float(rate))
    if threshold < 0:
        return 1 - base**-threshold / (1 + base)
    return float(base ** (threshold + 1) / (1 + base))


def sure_distance(rate: Fraction, threshold: int) -> int:
    """The least distance that passes a threshold with 99 % probability."""
    base = exp(-float(rate))
    more = max(ceil(-log(0.01 * (1 + base)) / float(rate)) - 2, 0)
    while above(rate, -more) < 0.99:
        more += 1
    return threshold + more
