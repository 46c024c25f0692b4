"""What tests of a proposed bound share: a statistic with a distance, and thresholds that noise alone seldom passes."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log
from typing import Any, ClassVar, Protocol

from dalenius.core.evidence import Evidence
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import ValuesQuery
from dalenius.core.rationals import exp_lower, exp_upper
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements._steps import StatisticStep


class DistanceStatistic(Protocol):
    """What a statistic must offer: its value, and how far the data are from data that a record moves by more than a
    bound.
    """

    @property
    def query(self) -> ValuesQuery:
        """The values it needs."""

    def value(self, values: Any) -> int:
        """The exact answer."""

    def distance(self, values: Any, bound: int, neighbours: Neighbours) -> int:
        """Zero wherever a unit can move the answer by more than the bound; differs by at most one between
        neighbours.
        """


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
        """Of test and answer together."""
        _check_rows(neighbours)
        epsilon = self.test + self.epsilon
        return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, delta=self.delta, evidence=self.evidence)


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
