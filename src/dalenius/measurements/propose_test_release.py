"""Propose, test, release: a statistic with noise at a proposed bound, if a private test finds that no record can move
it by more.

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

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import Branches, ExactLaw, Noised
from dalenius.core.law import Additive, IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import NoReply, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError
from dalenius.exact.ideal_rounding import saturated
from dalenius.exact.sampling import sample
from dalenius.measurements._distance_test import BoundedStep, DistanceStatistic, above, least_threshold, sure_distance
from dalenius.measurements._example import MeasurementExample, on_values
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics.quantile import Quantile

__all__ = ["ProposeTestRelease", "DistanceStatistic"]


@dataclass(frozen=True, kw_only=True)
class ProposeTestRelease(BoundedStep):
    """statistic + noise at the bound, or no reply; `test` and `epsilon` are what the test and the answer lose."""

    bound: int
    evidence: ClassVar[Evidence] = Evidence(level=Level.PROVED, references=("Dwork & Lei (2009)",))

    def __post_init__(self) -> None:
        if self.bound < 1:
            raise ParameterError("bound must be at least one declared step.", name="bound")
        super().__post_init__()

    @property
    def mechanism(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.epsilon / self.bound)

    @property
    def threshold(self) -> int:
        """The least distance that noise alone, from zero, exceeds with probability at most delta."""
        return least_threshold(self.test, self.delta)

    @property
    def law(self) -> Additive:
        """Of an answer, if there is one."""
        return Additive(self.mechanism, self.step)

    def silence(self, distance: int) -> float:
        """Probability of no reply at a distance."""
        return 1 - above(self.test, self.threshold - distance)

    @property
    def sure(self) -> int:
        """The least distance at which there is a reply with 99 % probability."""
        return sure_distance(self.test, self.threshold)

    def draw(self, rng: RandomSource) -> tuple[int, int]:
        """The noise of the test, and that of the answer."""
        return int(sample(DiscreteLaplace(self.test), 1, rng)[0]), int(sample(self.mechanism, 1, rng)[0])

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """An answer where the noisy distance is above the threshold."""
        values = exact[0].open_below_the_gate()
        distance = self.statistic.distance(values, self.bound, self.neighbours)
        answer = saturated(self.statistic.value(values) + drawn[1])
        if distance + drawn[0] <= self.threshold:
            return NoReply()
        return Value(np.array([answer], dtype=np.int64))

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """No reply, or the statistic plus noise. Guards: all noises of the test one by one,
        tests/methods/test_propose_test_release.py, and drawn answers.
        """
        silent = self.silence(self.statistic.distance(content[0], self.bound, self.neighbours))
        answer = Noised([int(self.statistic.value(content[0]))], [self.mechanism])
        return (
            Branches(
                {False: silent, True: 1 - silent},
                {False: (), True: (answer,)},
                lambda replies, values: Value(values) if replies else NoReply(),
            ),
        )

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        step = cls(
            name="median",
            statistic=Quantile(query=ValuesQuery(value="x"), low=-1, high=2),
            bound=1,
            test=Fraction(1),
            epsilon=Fraction(1),
            delta=Fraction(1, 4),
            neighbours=neighbours,
        )
        return (on_values(step),)
