"""A quantile by the exponential mechanism: the default for medians under plain differential privacy.

Guarantee
    epsilon-DP, of bounded range epsilon, so epsilon^2 / 8 in rho.
Requires
    Declared bounds and step; a unit's rows move the score by at most max(q, 1-q) each (1 under replace).
Noise
    No additive noise: grid points are drawn with probability falling by exp(-epsilon/2) for each record that they are
    away from the quantile. The mechanism is public, the law of the answer depends on the data. By depth the value that
    holds the quantile also gains by every record that would have to change before it no longer did; no other odds
    change.
Evidence
    Proved; exact output probabilities on all neighbours of tiny data, tests/measurements/test_exponential_quantile.py.
References
    Smith (2011); McSherry & Talwar (2007); Dong, Durfee & Rogers (2020) for the bounded range.

The number of distinct values near the answer shows in the run time: a hosted service must answer on a tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, ClassVar

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError
from dalenius.exact.quantile_selection import Score, check_rate, probabilities, score_change, score_weights, select
from dalenius.measurements._example import MeasurementExample, on_values

__all__ = ["ExponentialQuantile"]


@dataclass(frozen=True, kw_only=True)
class ExponentialQuantile:
    """One quantile of one numeric variable, in steps."""

    name: str
    query: ValuesQuery
    low: int
    high: int
    epsilon: Fraction
    neighbours: Neighbours
    q: Fraction = Fraction(1, 2)
    step: Fraction = Fraction(1)
    score: Score = Score.DISTANCE
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED, references=("Smith (2011)", "Dong, Durfee & Rogers (2020)")
    )

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise ParameterError(f"a quantile needs 0 < q < 1; received {self.q}.")
        check_rate(self.epsilon, self._change(self.neighbours))

    def _change(self, neighbours: Neighbours) -> Fraction:
        return score_change(self.q, is_replace=neighbours.is_replace, rows=neighbours.max_rows)

    @property
    def law(self) -> Joint:
        """Public parameters of the selection."""
        return Joint(
            "exponential_quantile",
            {
                "q": plain(self.q),
                "epsilon": plain(self.epsilon),
                "low": self.low,
                "high": self.high,
                "step": plain(self.step),
                "score_change": plain(self._change(self.neighbours) / self.q.denominator),
            }
            | ({} if self.score is Score.DISTANCE else {"score": str(self.score)}),
        )

    @property
    def needs(self) -> tuple[Query, ...]:
        """The sorted values."""
        return (self.query,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Pure epsilon at the relation it was made for, in proportion at another."""
        epsilon = self.epsilon * self._change(neighbours) / self._change(self.neighbours)
        return PrivacyProfile(
            relation=neighbours.relation, epsilon=epsilon, rho=epsilon * epsilon / 8, evidence=self.evidence
        )

    def draw(self, rng: RandomSource) -> None:
        """Nothing: the weights need the data."""

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """One grid point."""
        w = score_weights(self.epsilon, self._change(self.neighbours), self.low, self.high, self.score)
        answer = select(exact[0].open_below_the_gate(), self.low, self.high, self.q, w, rng)
        return Value(np.array([answer], dtype=np.int64))

    def block(self, outcome: Value) -> Block:
        """The answer, over a one-cell space."""
        space = CellSpace((Axis(variable=self.query.value, labels=(f"quantile {plain(self.q)}",)),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="quantile")

    def needs_values(self, resolution: int = 1) -> int:
        """Number of values from which the answer is likely to be near the quantile; public advice."""
        rate = float(self.epsilon / (2 * self._change(self.neighbours) / self.q.denominator))
        reach = log(max((self.high - self.low) / resolution, 1)) + 3
        return int(reach / (rate * float(min(self.q, 1 - self.q)))) + 1

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every grid point, by the weights that are drawn from. Guards: the recorder hears the weights, and
        tests/exact/test_quantile_selection.py derives the probabilities from the score alone.
        """
        w = score_weights(self.epsilon, self._change(self.neighbours), self.low, self.high, self.score)
        chances = probabilities(content[0], self.low, self.high, self.q, w)
        return (Listed.of(((point,), chance) for point, chance in enumerate(chances, self.low)),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """A median, a quartile, and both by depth."""

        def example(q: Fraction, score: Score) -> MeasurementExample:
            query, epsilon = ValuesQuery(value="x"), Fraction(2)
            return on_values(
                cls(
                    name="quantile",
                    query=query,
                    low=-1,
                    high=2,
                    epsilon=epsilon,
                    neighbours=neighbours,
                    q=q,
                    score=score,
                )
            )

        return tuple(example(q, score) for score in Score for q in (Fraction(1, 2), Fraction(1, 4)))
