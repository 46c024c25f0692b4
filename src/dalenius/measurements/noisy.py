"""The ordinary measurement: an exact integer statistic plus independent additive noise in every cell.

Guarantee: the mechanism's profile at the statistic's sensitivity; the noise is drawn before the data are read.
Requires: the statistic's answers stay within +-2**62, which engines prove from declared bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from dalenius.core.contracts import Mechanism, Statistic
from dalenius.core.domain import CellSpace
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Power, Query, RowFunction, TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import Unsupported
from dalenius.exact.sampling import sample
from dalenius.measurements._example import COUNTS, VARIABLES, MeasurementExample, on_cells
from dalenius.measurements._steps import AddedNoise
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics import Simplex
from dalenius.statistics.count import Count
from dalenius.statistics.row_sums import RowSums


@runtime_checkable
class CombinedStatistic(Protocol):
    """A statistic made of several exact tables or lists of values."""

    @property
    def needs(self) -> tuple[Query, ...]:
        """The exact tables or lists."""

    @property
    def space(self) -> CellSpace:
        """Cells of the answer."""

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        """The answer; must not raise for any content."""


def _is_combined(statistic: object) -> TypeGuard[CombinedStatistic]:
    """By the type alone: to ask an object for its properties would compute them, for every draw."""
    return hasattr(type(statistic), "combine")


@dataclass(frozen=True)
class Noisy(AddedNoise):
    name: str
    statistic: Statistic
    mechanism: Mechanism
    step: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not _is_combined(self.statistic) and not isinstance(self.statistic.query, TableQuery):
            raise Unsupported("Additive noise needs a table of integers.")

    @property
    def space(self) -> CellSpace:
        if _is_combined(self.statistic):
            return self.statistic.space
        query = self.statistic.query
        assert isinstance(query, TableQuery)
        return query.space

    @property
    def needs(self) -> tuple[Query, ...]:
        if _is_combined(self.statistic):
            return self.statistic.needs
        return (self.statistic.query,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        return self.mechanism.profile(self.statistic.sensitivity(neighbours), neighbours.relation)

    def draw(self, rng: RandomSource) -> IntArray:
        space = self.space
        noise = sample(self.mechanism, space.size, rng)
        if space.structural_zeros:
            noise[list(space.structural_indices)] = 0
        return noise

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        return Value(np.add(self._answer([sealed.open_below_the_gate() for sealed in exact]), drawn, dtype=np.int64))

    def _answer(self, content: Sequence[IntArray]) -> IntArray:
        statistic = self.statistic
        return statistic.combine(content) if _is_combined(statistic) else content[0]

    def block(self, outcome: Value) -> Block:
        return Block(name=self.name, space=self.space, values=outcome.values, law=self.law)

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """The statistic plus noise. Guard: audits run the step on both neighbours with the same noise."""
        return (Noised.equally(self._answer(content), self.mechanism, self.space.structural_indices),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        counts = tuple(
            on_cells(cls("counts", Count(COUNTS), mechanism))
            for mechanism in (DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(1)))
        )
        low, high = VARIABLES["x"].bounds.low, VARIABLES["x"].bounds.high
        sides = (Power("x", offset=-low), Power("x", slope=-1, offset=high))
        queries = tuple(replace(COUNTS, function=RowFunction.of(side)) for side in sides)
        mirrored = RowSums(needs=queries, basis=Simplex(total=high - low))
        return (*counts, on_cells(cls("mirrored", mirrored, DiscreteLaplace(Fraction(1, 3)))))
