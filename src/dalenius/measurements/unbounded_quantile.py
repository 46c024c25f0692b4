"""A quantile by going up a public list of thresholds until enough values lie below: for bounds that say little.

Guarantee
    epsilon-DP. Thresholds are tried from the lower bound on; the first at which the noisy count of values up to it
    reaches the noisy rank is the answer, and the upper bound if none does. Counts less the rank move by between -q and
    1 - q when a row is added, the other way when one is removed, and all in one direction when one is replaced; the
    noise of the rank pays for the largest rise, and that of the one count that passes for the rise and fall together
    (Requires says for how many rows).
Requires
    Declared bounds and step, and a declared growth of the thresholds; nothing about how many values there are. One row
    to a unit.
Noise
    Two-sided geometric, of the rank and of every count. The law of the answer depends on the data.
Evidence
    Proved; exact output probabilities on all neighbours of tiny data, tests/measurements/test_unbounded_quantile.py.
References
    Durfee (2023); Dwork, Naor, Reingold, Rothblum & Vadhan (2009); Lyu, Su & Li (2017).

Thresholds are a step apart at first and then grow by a factor, so that bounds may be as wide as one likes: their number
grows with the logarithm of the bounds. Within bounds that say something `grid_selection` is more accurate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.sampling import sample
from dalenius.measurements._example import MeasurementExample, on_values
from dalenius.measurements._steps import QueryStep
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

GROWTH = Fraction(1001, 1000)
_LEAST_GROWTH, _LARGEST_GROWTH, _MOST_PARTS = Fraction(10001, 10000), Fraction(2), 1000


@lru_cache(maxsize=16)
def thresholds(low: int, high: int, growth: Fraction) -> tuple[int, ...]:
    """From the lower bound up, below the upper one: a step apart at first, then farther by the factor.

    >>> thresholds(0, 20, Fraction(2))
    (0, 1, 2, 4, 8, 16)
    """
    points, away = [], 0
    while low + away < high:
        points.append(low + away)
        away = max(away + 1, int(away * growth))
    return tuple(points)


@dataclass(frozen=True, kw_only=True)
class UnboundedQuantile(QueryStep):
    name: str
    query: ValuesQuery
    low: int
    high: int
    epsilon: Fraction
    neighbours: Neighbours
    q: Fraction = Fraction(1, 2)
    growth: Fraction = GROWTH
    step: Fraction = Fraction(1)
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Durfee (2023)",))

    def __post_init__(self) -> None:
        if not 0 < self.q < 1 or self.q.denominator > _MOST_PARTS:
            raise ParameterError(
                f"a quantile needs 0 < q < 1 with at most {_MOST_PARTS} parts; received {plain(self.q)}.", name="q"
            )
        if not _LEAST_GROWTH <= self.growth <= _LARGEST_GROWTH:
            raise ParameterError(
                f"growth lies between {plain(_LEAST_GROWTH)} and {plain(_LARGEST_GROWTH)}; received "
                f"{plain(self.growth)}.",
                name="growth",
            )
        if self.neighbours.max_rows > 1:
            raise Unsupported("Thresholds are tried for one row to a unit.")
        # Rates that cannot be drawn are refused before anything is charged.
        _ = [law.variance for law in self._noises]

    def _moves(self, neighbours: Neighbours) -> tuple[int, int]:
        """How far all counts less the rank can rise together, and two of them part, in parts of a record."""
        a, b = self.q.numerator, self.q.denominator
        return (b, b) if neighbours.is_replace else (max(a, b - a), b)

    @property
    def _noises(self) -> tuple[DiscreteLaplace, DiscreteLaplace]:
        rise, apart = self._moves(self.neighbours)
        return DiscreteLaplace(self.epsilon / (2 * rise)), DiscreteLaplace(self.epsilon / (2 * apart))

    @property
    def thresholds(self) -> tuple[int, ...]:
        return thresholds(self.low, self.high, self.growth)

    @property
    def law(self) -> Joint:
        asked = {"q": plain(self.q), "epsilon": plain(self.epsilon), "low": self.low, "high": self.high}
        return Joint("unbounded_quantile", asked | {"growth": plain(self.growth), "step": plain(self.step)})

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        if neighbours.max_rows > 1:
            raise Unsupported("Thresholds are tried for one row to a unit.")
        rates = [Fraction(law.parameters["rate"]) for law in self._noises]
        epsilon = sum((r * move for r, move in zip(rates, self._moves(neighbours), strict=True)), Fraction(0))
        return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> tuple[int, IntArray]:
        rank, count = self._noises
        return int(sample(rank, 1, rng)[0]), sample(count, len(self.thresholds), rng)

    def _scores(self, values: IntArray) -> IntArray:
        ordered = np.sort(np.clip(values, self.low, self.high))
        counts = np.searchsorted(ordered, np.array(self.thresholds, dtype=np.int64), side="right")
        return np.asarray(self.q.denominator * counts - self.q.numerator * len(ordered), dtype=np.int64)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        rank, noise = drawn
        passes = np.flatnonzero(self._scores(exact[0].open_below_the_gate()) + noise >= rank)
        answer = self.thresholds[int(passes[0])] if len(passes) else self.high
        return Value(np.array([answer], dtype=np.int64))

    def block(self, outcome: Value) -> Block:
        space = CellSpace((Axis(variable=self.query.value, labels=(f"quantile {plain(self.q)}",)),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="quantile")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """All ranks that are not negligible. Guard: drawn answers, tests/measurements/test_unbounded_quantile.py."""
        rates = [float(law.rate) for law in self._noises]
        scores = self._scores(content[0])
        reach = int(45 / min(rates)) + int(np.abs(scores).max(initial=0))
        ranks = np.arange(-reach, reach + 1)
        left, odds = np.tanh(rates[0] / 2) * np.exp(-rates[0] * np.abs(ranks)), []
        for score in scores.tolist():
            # P(noise >= k) of a two-sided geometric law with base a: 1 - a^(1 - k) / (1 + a) up to zero, a^k / (1 + a)
            # above.
            gap, base = ranks - score, np.exp(-rates[1])
            tail = base ** np.abs(np.where(gap <= 0, 1 - gap, gap)) / (1 + base)
            passing = np.where(gap <= 0, 1 - tail, tail)
            odds.append(float((left * passing).sum()))
            left = left * (1 - passing)
        answers = ((answer,) for answer in (*self.thresholds, self.high))
        return (Listed.of(zip(answers, (*odds, float(left.sum())), strict=True)),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        q, two, values = Fraction(1, 4), Fraction(2), ValuesQuery(value="x")
        return (on_values(cls(name="x", query=values, low=-1, high=2, epsilon=two, neighbours=neighbours, q=q)),)
