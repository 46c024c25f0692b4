"""Discrete Laplace noise scaled to the local (or bootstrap) sensitivity of an order statistic.

Guarantee
    Individual: for the data D at hand and each of its neighbours D', with the noise fixed at D, the odds of any output
    differ by at most exp(epsilon); with group = k, the same for data sets that differ from D in up to k records.
    Bootstrap: the same between any neighbours made of the values of D only.
Requires
    An order statistic with exact local sensitivity; one row to a unit; a public floor of at least one step.
Noise
    Discrete Laplace (or Laplace, rounded exactly) of scale max(floor, sensitivity) / epsilon, drawn without a table so
    that the cost does not depend on the scale; the scale is withheld and the grid is the declared step.
Evidence
    The definition is met: proved, and exhaustive on tiny data. The definition itself is weak: an intruder who knows the
    algorithm compares D with D' under *their own* scales, which nothing bounds. Opened by the policy only.
References
    Soria-Comas, Domingo-Ferrer, Sanchez & Megias (2017), Proposition 3 and Theorem 5; O'Keefe & Charest (2018),
    Definition 10.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import IntArray, Withheld
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.ideal_rounding import rounded_laplace, saturated, scaled_laplace, unit_laplace
from dalenius.measurements._example import MEDIAN, Exact, MeasurementExample, on_values
from dalenius.measurements._steps import FollowingNoise, RoundedNoise, StatisticStep, ValueStatistic
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace


class LocalStatistic(ValueStatistic, Protocol):
    def local(self, values: IntArray, neighbours: Neighbours, group: int = 1) -> int:
        """Largest change that up to `group` records can make."""

    def bootstrap(self, values: IntArray, neighbours: Neighbours) -> int:
        """Largest change between neighbours made of these values."""


@dataclass(frozen=True, kw_only=True)
class LocalLaplace(StatisticStep, FollowingNoise):
    name: str
    statistic: LocalStatistic
    epsilon: Fraction
    neighbours: Neighbours
    floor: int = 1
    group: int = 1
    is_discrete: bool = True
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.NONE,
        references=("Soria-Comas et al. (2017), Theorem 5",),
        assumptions=("protects each record only against an intruder who ignores that the noise follows the data",),
    )

    def __post_init__(self) -> None:
        if self.floor < 1:
            raise ParameterError("The floor of a data-dependent scale is at least one step.", name="floor")
        if self.group < 1:
            raise ParameterError("A group has at least one member.", name="group")
        if self.epsilon <= 0:
            raise ParameterError("epsilon must be positive.", name="epsilon")
        if not self.neighbours.scope.is_data_dependent:
            raise Unsupported("Noise scaled to the data is no differential privacy; use smooth noise.")
        if self.group > 1 and self.neighbours.scope is not Scope.ACTUAL_DATA:
            raise Unsupported("Groups are served under individual privacy.")
        # Refusals come before data are read.
        self.statistic.local(np.array([], dtype=np.int64), self.neighbours, self.group)

    @property
    def law(self) -> Withheld:
        """Withheld; two scales that differ by declaration have two different laws."""
        is_smaller_too = self.neighbours.scope is Scope.OBSERVED_ROWS and not self.neighbours.is_replace
        also = ", and of smaller data sets made of them" if is_smaller_too else ""
        return Withheld(f"The scale of the noise is the local sensitivity of the confidential data{also}.")

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        same = (neighbours.scope, neighbours.relation) == (self.neighbours.scope, self.neighbours.relation)
        if not same:
            raise Unsupported(
                f"This noise is private {self.neighbours.scope} under {self.neighbours.relation} only; it is no"
                " differential privacy."
            )
        if neighbours.max_rows > 1:
            raise Unsupported("Local sensitivities are for one row to a unit.")
        return PrivacyProfile(relation=neighbours.relation, epsilon=self.epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> Any:
        return unit_laplace(rng)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        values = exact[0].open_below_the_gate()
        return self.answer(values, self.sensitivity(values), drawn)

    def answer(self, values: IntArray, sensitivity: int, drawn: Any) -> Value:
        scaled = scaled_laplace if self.is_discrete else rounded_laplace
        noise = scaled(drawn, max(self.floor, sensitivity) / self.epsilon)
        return Value(np.array([saturated(self.statistic.value(values) + noise)], dtype=np.int64))

    def sensitivity(self, values: IntArray) -> int:
        """The sensitivity that the scope asks for: exact, confidential."""
        if self.neighbours.scope is Scope.OBSERVED_ROWS:
            return self.statistic.bootstrap(values, self.neighbours)
        return self.statistic.local(values, self.neighbours, self.group)

    def exact_law_at(self, content: Sequence[Any], at: Sequence[Any]) -> ExactLaw:
        """The statistic plus noise of the scale that `at` sets. Guard: tests/measurements/test_local_laplace.py."""
        scale = max(self.floor, self.sensitivity(at[0])) / self.epsilon
        law = DiscreteLaplace(1 / scale) if self.is_discrete else RoundedNoise(scale)
        return (Noised([int(self.statistic.value(content[0]))], [law]),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        def example(*, is_discrete: bool) -> MeasurementExample:
            two = Fraction(2)
            step = cls(name="median", statistic=MEDIAN, neighbours=neighbours, epsilon=two, is_discrete=is_discrete)

            def run_at(at: Exact, there: Exact, drawn: Any, rng: RandomSource) -> Outcome:
                followed, values = (content[0].open_below_the_gate() for content in (at, there))
                return step.answer(values, step.sensitivity(followed), drawn)

            return on_values(step, run_at=run_at)

        return example(is_discrete=True), example(is_discrete=False)
