"""Discrete Laplace noise scaled to the local sensitivity: individual differential privacy.

Guarantee
    For the data D at hand and each of its neighbours D', with the noise fixed at D: the odds of any output differ by at
    most exp(epsilon). With group = k, the same for data sets that differ from D in up to k records.
Requires
    An order statistic with exact local sensitivity; one row to a unit; a public floor of at least one step.
Noise
    Discrete Laplace of scale max(floor, local sensitivity) / epsilon, drawn without a table so that the cost does not
    depend on the scale; the scale is withheld and the grid is the declared step.
Evidence
    The definition is met: proved, and exhaustive on tiny data. The definition itself is weak: an intruder who knows the
    algorithm compares D with D' under *their own* scales, which nothing bounds. Opened by the policy only.
References
    Soria-Comas, Domingo-Ferrer, Sanchez & Megias (2017), Proposition 3 and Theorem 5.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.ideal_rounding import saturated, scaled_laplace, unit_laplace
from dalenius.core.law import IntArray, Withheld
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, NoReply, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported

__all__ = ["LocalLaplace"]


class LocalStatistic(Protocol):
    """What a statistic must offer."""

    @property
    def query(self) -> ValuesQuery:
        """The values it needs."""

    def value(self, values: IntArray) -> int:
        """The exact answer."""

    def local(self, values: IntArray, neighbours: Neighbours, group: int = 1) -> int:
        """Largest change that up to `group` records can make."""


@dataclass(frozen=True, kw_only=True)
class LocalLaplace:
    """f + discrete Laplace(max(floor, LS) / epsilon), in 1 / unit steps of the statistic."""

    name: str
    statistic: LocalStatistic
    epsilon: Fraction
    neighbours: Neighbours
    floor: int = 1
    group: int = 1
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.NONE,
        references=("Soria-Comas et al. (2017), Theorem 5",),
        assumptions=(
            "protects each record only against an intruder who ignores that the noise follows the data",
        ),
    )
    law: ClassVar[Withheld] = Withheld(
        "The scale of the noise is the local sensitivity of the confidential data."
    )

    def __post_init__(self) -> None:
        if self.floor < 1:
            raise ParameterError("The floor of a data-dependent scale is at least one step.", name="floor")
        if self.group < 1:
            raise ParameterError("A group has at least one member.", name="group")
        if self.epsilon <= 0:
            raise ParameterError("epsilon must be positive.", name="epsilon")
        # Refusals come before data are read.
        self.statistic.local(np.array([], dtype=np.int64), self.neighbours, self.group)

    @property
    def needs(self) -> tuple[Query, ...]:
        """The sorted values."""
        return (self.statistic.query,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """epsilon at the data; refused for any other scope, which this step does not protect."""
        if neighbours.scope is not Scope.AT_THE_DATA or neighbours.relation is not self.neighbours.relation:
            raise Unsupported(
                "Noise scaled to the local sensitivity is private at the data only; it is no differential privacy."
            )
        if neighbours.max_rows > 1:
            raise Unsupported("Local sensitivities are for one row to a unit.")
        return PrivacyProfile(relation=neighbours.relation, epsilon=self.epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> Any:
        """Noise of unit scale."""
        return unit_laplace(rng)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Scale it to the data, add."""
        values = exact[0].open_below_the_gate()
        size = max(self.floor, self.statistic.local(values, self.neighbours, self.group))
        answer = self.statistic.value(values) + scaled_laplace(drawn, size / self.epsilon)
        return Value(np.array([saturated(answer)], dtype=np.int64))

    def block(self, outcome: Outcome) -> Block | None:
        """The answer, over a one-cell space; nothing about the scale."""
        if isinstance(outcome, NoReply):
            return None
        label = type(self.statistic).__name__.lower()
        space = CellSpace((Axis(variable=self.statistic.query.value, labels=(label,)),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="statistic")
