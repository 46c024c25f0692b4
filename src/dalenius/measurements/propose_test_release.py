"""Propose, test, release: noise at a proposed bound, if a private test finds that no record can move more.

Guarantee
    (test + epsilon, delta)-DP as a pair. Between neighbours of which one passes the bound's test at a positive
    distance, the distance moves by one and the answer by at most the bound; between two at distance zero an answer has
    probability at most delta, and "no reply" the same probability.
Requires
    A distance that is zero wherever a record can move the answer by more than the bound, and differs by at most one
    between neighbours; a bound that is public.
Noise
    Two-sided geometric, of the test on the distance and of the answer at the bound. An answer is the exact one plus
    noise of a public law.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data, tests/methods/test_propose_test_release.py.
References
    Dwork & Lei (2009); Dwork & Smith (2010) 3.2.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import Additive, IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.release import Value
from dalenius.errors import ParameterError
from dalenius.measurements._distance_test import BoundedStep, DistanceStatistic, least_threshold, sure_distance
from dalenius.measurements._example import MeasurementExample, on_values
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

__all__ = ["ProposeTestRelease", "DistanceStatistic"]


@dataclass(frozen=True, kw_only=True)
class ProposeTestRelease(BoundedStep):
    """statistic + noise at the bound, or no reply; `test` and `epsilon` are what the test and the answer lose."""

    bound: int
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Dwork & Lei (2009)",))

    def __post_init__(self) -> None:
        if self.bound < 1:
            raise ParameterError("bound must be at least one declared step.", name="bound")
        super().__post_init__()

    @property
    def mechanism(self) -> DiscreteLaplace:
        return self.mechanisms[0]

    @property
    def threshold(self) -> int:
        """The least distance that noise alone, from zero, exceeds with probability at most delta."""
        return least_threshold(self.test, self.delta)

    @property
    def law(self) -> Additive:
        return Additive(self.mechanism, self.step)

    def silence(self, distance: int) -> float:
        return self.passed([distance])[-1]

    @property
    def sure(self) -> int:
        """The least distance at which there is a reply with 99 % probability."""
        return sure_distance(self.test, self.threshold)

    @property
    def _bounds(self) -> tuple[int, ...]:
        return (self.bound,)

    def _tests(self) -> tuple[Fraction, tuple[int, ...]]:
        return self.test, (self.threshold,)

    def _told(self, answer: IntArray, place: int) -> Value:
        return Value(answer)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        return (on_values(cls.of_median(neighbours, bound=1)),)
