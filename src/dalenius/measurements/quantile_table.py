"""A quantile in every cell of a table, by the exponential mechanism: the default for tables of medians.

Guarantee
    epsilon-DP for the whole table. A unit with c rows moves the scores of the cells that its rows are in, by at most
    max(q, 1 - q) for each row, so the cells' losses add up to at most epsilon however the rows are spread. Under
    replace one unit's rows leave and another's enter: twice that, so each cell gets half of epsilon.
Requires
    Declared bounds and step; cells that do not depend on data; at most `MOST_CELLS` of them.
Noise
    No additive noise: grid points are drawn with probability falling by each record that they are away from the
    quantile; by depth the value that holds the quantile gains by every record that would have to change before it no
    longer did.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data, tests/measurements/test_quantile_table.py.
References
    Smith (2011); McSherry & Talwar (2007). Each cell's selection has a bounded range, so rho is epsilon^2 / 8.

The number of distinct values in a cell shows in the run time: a hosted service must answer on a tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.core.domain import CellSpace
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
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.quantile_selection import Score, check_rate, probabilities, score_change, score_weights, select
from dalenius.measurements._example import CELLS, LISTS, MeasurementExample, on_cells

__all__ = ["QuantileTable"]

MOST_CELLS = 500


@dataclass(frozen=True, kw_only=True)
class QuantileTable:
    """One quantile of one numeric variable for each cell, in steps."""

    name: str
    space: CellSpace
    queries: tuple[ValuesQuery, ...]
    low: int
    high: int
    epsilon: Fraction
    neighbours: Neighbours
    q: Fraction = Fraction(1, 2)
    step: Fraction = Fraction(1)
    score: Score = Score.DISTANCE
    evidence: ClassVar[Evidence] = Evidence(level=Level.PROVED, references=("Smith (2011)", "McSherry & Talwar (2007)"))

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise ParameterError(f"a quantile needs 0 < q < 1; received {plain(self.q)}.", name="q")
        if self.space.size > MOST_CELLS:
            raise TooLarge(
                f"A table of quantiles has at most {MOST_CELLS} cells; received {self.space.size:,}.",
                received=self.space.size,
                limit=MOST_CELLS,
            )
        check_rate(self.cell_epsilon, self._change)

    @property
    def cell_epsilon(self) -> Fraction:
        """What one cell loses when all rows of a unit are added to it or removed from it."""
        return self.epsilon / 2 if self.neighbours.is_replace else self.epsilon

    @property
    def _change(self) -> Fraction:
        return score_change(self.q, is_replace=False, rows=self.neighbours.max_rows)

    @property
    def law(self) -> Joint:
        """Public parameters of the selections."""
        return Joint(
            "quantile_table",
            {
                "q": plain(self.q),
                "epsilon": plain(self.cell_epsilon),
                "low": self.low,
                "high": self.high,
                "step": plain(self.step),
            }
            | ({} if self.score is Score.DISTANCE else {"score": str(self.score)}),
        )

    @property
    def needs(self) -> tuple[Query, ...]:
        """The sorted values of each cell."""
        return self.queries

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Rows of a unit cost in proportion; a replaced unit counts twice."""
        sides = 2 if neighbours.is_replace else 1
        epsilon = self.cell_epsilon * sides * Fraction(neighbours.max_rows, self.neighbours.max_rows)
        return PrivacyProfile(
            relation=neighbours.relation, epsilon=epsilon, rho=epsilon * epsilon / 8, evidence=self.evidence
        )

    def draw(self, rng: RandomSource) -> None:
        """Nothing: the weights need the data."""

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """One grid point for each cell, empty or not; structural zeros stay zero."""
        weights = score_weights(self.cell_epsilon, self._change, self.low, self.high, self.score)
        structural = set(self.space.structural_indices)
        answers = np.zeros(self.space.size, dtype=np.int64)
        for i, values in enumerate(exact):
            chosen = select(values.open_below_the_gate(), self.low, self.high, self.q, weights, rng)
            answers[i] = 0 if i in structural else chosen
        return Value(answers)

    def block(self, outcome: Value) -> Block:
        """The released array."""
        return Block(name=self.name, space=self.space, values=outcome.values, law=self.law, role="quantile")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every grid point of each cell, by the weights that are drawn from. Guards: as `exponential_quantile`."""
        w = score_weights(self.cell_epsilon, self._change, self.low, self.high, self.score)
        structural, parts = set(self.space.structural_indices), []
        for cell, values in enumerate(content):
            chances = [Fraction(1)] if cell in structural else probabilities(values, self.low, self.high, self.q, w)
            first = 0 if cell in structural else self.low
            parts.append(Listed.of(((point,), chance) for point, chance in enumerate(chances, first)))
        return parts

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """Medians of two cells, by distance and by depth."""
        return tuple(
            on_cells(
                cls(
                    name="medians",
                    space=CELLS,
                    queries=LISTS,
                    low=-1,
                    high=2,
                    epsilon=Fraction(2),
                    neighbours=neighbours,
                    score=score,
                )
            )
            for score in Score
        )
