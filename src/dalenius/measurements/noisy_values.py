"""A statistic of lists of values plus additive noise at its declared sensitivity.

Guarantee
    The mechanism's profile at the statistic's global sensitivity; the noise is drawn before the data are read.
Requires
    A statistic over values (an order statistic, or a count of dominated cells) whose declared sensitivity covers every
    data set.
Evidence
    The mechanism's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dalenius.core.contracts import Mechanism
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity
from dalenius.exact.ideal_rounding import saturated
from dalenius.exact.sampling import sample
from dalenius.measurements._example import MEDIAN, MeasurementExample, on_values
from dalenius.measurements._steps import AddedNoise, ValueStatistic
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

__all__ = ["NoisyValues"]


class SensitiveStatistic(ValueStatistic, Protocol):
    """What a statistic must offer."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Its declared sensitivity."""


@runtime_checkable
class ListsStatistic(Protocol):
    """A statistic of several lists; its value takes all of them."""

    @property
    def queries(self) -> tuple[ValuesQuery, ...]:
        """The lists it needs."""


@dataclass(frozen=True)
class NoisyValues(AddedNoise):
    """statistic + noise, one number."""

    name: str
    statistic: SensitiveStatistic
    mechanism: Mechanism
    step: Fraction = Fraction(1)

    @property
    def needs(self) -> tuple[Query, ...]:
        return self.statistic.queries if isinstance(self.statistic, ListsStatistic) else (self.statistic.query,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        return self.mechanism.profile(self.statistic.sensitivity(neighbours), neighbours.relation)

    def draw(self, rng: RandomSource) -> int:
        return int(sample(self.mechanism, 1, rng)[0])

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        answer = self._answer([sealed.open_below_the_gate() for sealed in exact])
        return Value(np.array([saturated(answer + drawn)], dtype=np.int64))

    def _answer(self, lists: Sequence[IntArray]) -> int:
        return self.statistic.value(lists if isinstance(self.statistic, ListsStatistic) else lists[0])

    def block(self, outcome: Value) -> Block:
        space = CellSpace((Axis(variable=self.statistic.query.value, labels=(self.name,)),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law)

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """The statistic plus noise. Guard: audits run the step on both neighbours with the same noise."""
        return (Noised([int(self._answer(content))], [self.mechanism]),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        return (on_values(cls("median", MEDIAN, DiscreteLaplace(Fraction(1, 3)))),)
