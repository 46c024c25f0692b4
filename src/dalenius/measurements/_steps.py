"""Parts that several private steps share: what they fetch, the law of added noise, and the block of an answer."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from dalenius.core.contracts import Mechanism
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence
from dalenius.core.integer_law import ExactLaw
from dalenius.core.law import Additive, FloatArray, IntArray, Law
from dalenius.core.query import Aggregate, Query, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.measurements._example import Exact
from dalenius.statistics.magnitude_table import MagnitudeTable


class AddedNoise(ABC):
    """A step that adds the noise of one mechanism, on a grid of `step`."""

    mechanism: Mechanism
    step: Fraction = Fraction(1)

    @property
    def law(self) -> Additive:
        return Additive(self.mechanism, self.step)

    @property
    def evidence(self) -> Evidence:
        return self.mechanism.evidence


class QueryStep(ABC):
    query: Any

    @property
    def needs(self) -> tuple[Query, ...]:
        return (self.query,)


class TableStep(QueryStep):
    """A step that answers with one number for each cell of a table."""

    name: str

    @property
    @abstractmethod
    def law(self) -> Law:
        """The public law of the answer."""

    def block(self, outcome: Value) -> Block:
        return Block(name=self.name, space=self.query.space, values=outcome.values, law=self.law)


class ValueStatistic(Protocol):
    """A statistic of one list of values."""

    @property
    def query(self) -> ValuesQuery:
        """The values it needs."""

    def value(self, values: Any) -> int:
        """The exact answer."""


class StatisticStep(ABC):
    """A step that answers with one statistic of one variable."""

    name: str
    statistic: Any

    @property
    @abstractmethod
    def law(self) -> Law:
        """The public law of the answer."""

    @property
    def needs(self) -> tuple[Query, ...]:
        return (self.statistic.query,)

    def block(self, outcome: Value) -> Block:
        axis = Axis(variable=self.statistic.query.value, labels=(type(self.statistic).__name__.lower(),))
        return Block(
            name=self.name, space=CellSpace((axis,)), values=outcome.values[:1], law=self.law, role="statistic"
        )


class FollowingNoise(ABC):
    """A step whose noise follows the data: its guarantee holds for the noise that one content sets."""

    @abstractmethod
    def exact_law_at(self, content: Sequence[Any], at: Sequence[Any]) -> ExactLaw:
        """The law of the answer to one content, with the noise that the content `at` sets."""

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        return self.exact_law_at(content, content)


class ExtremesStep(FollowingNoise):
    """A step on totals whose noise follows the smallest and largest value of each cell."""

    statistic: MagnitudeTable

    @property
    def needs(self) -> tuple[Query, ...]:
        """Totals, smallest and largest value of each cell; a cell without rows has smallest > largest."""
        query = self.statistic.query
        return (query, *(replace(query, aggregate=each) for each in (Aggregate.MINIMUM, Aggregate.MAXIMUM)))

    @abstractmethod
    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """The private answer."""

    def run_at(self, at: Exact, there: Exact, drawn: Any, rng: RandomSource) -> Outcome:
        """The answer to the content `there`, with the noise that the content `at` sets."""
        return self.run((there[0], *at[1:]), drawn, rng)


@dataclass(frozen=True)
class RoundedNoise:
    """The law of round(scale * Z), Z real Laplace or normal noise of unit scale: what noise of a withheld scale is."""

    scale: Fraction
    is_normal: bool = False
    support: ClassVar[tuple[None, None]] = (None, None)

    def log_pmf(self, k: IntArray) -> FloatArray:
        """log P(noise = k), from the upper tails beside |k|."""
        from scipy.special import log_ndtr

        near, far = ((np.abs(k) + side) / float(self.scale) for side in (-0.5, 0.5))
        if self.is_normal:
            logs = [log_ndtr(-z) for z in (near, far)]
        else:
            logs = [np.where(z < 0, np.log1p(-np.exp(-np.abs(z)) / 2), -z - np.log(2)) for z in (near, far)]
        return np.asarray(logs[0] + np.log(-np.expm1(logs[1] - logs[0])))
