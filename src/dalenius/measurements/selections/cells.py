"""What selections of a cell share: how steep the choice is, what it needs, and how the chosen cell is written down.

The score of a cell is its count, its total, or the negative of one. A choice sees scores only through their
differences, so that its loss is at most the rate times the largest change of the difference of two scores between
neighbours. One row that is added or removed moves one score; a row that leaves one cell and enters another moves two.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.integer_law import Listed
from dalenius.core.law import FloatArray, IntArray, Joint, Law
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Query, TableQuery
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Value
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.measurements import COUNTS, TOTALS, MeasurementExample, on_cells
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable

Scores = Count | MagnitudeTable
MOST_CANDIDATES = 10_000
_MOST_EPSILON = 100


@lru_cache(maxsize=64)
def steepness(scores: Scores, neighbours: Neighbours) -> Fraction:
    """The largest change of the difference of two scores: of the two cells that move most."""
    moved = scores.sensitivity(neighbours)
    if moved.patterns is None:
        return min(2 * moved.linf, moved.l1)
    return max((Fraction(sum(sorted(pattern)[-2:])) for pattern in moved.patterns), default=Fraction(0))


def candidates(space: CellSpace) -> list[int]:
    """Positions of the cells that can be chosen: all that are not declared impossible."""
    impossible = set(space.structural_indices)
    return [position for position in range(space.size) if position not in impossible]


def check(scores: Scores, epsilon: Fraction, neighbours: Neighbours) -> None:
    space = scores.query.space
    if len(space.structural_zeros) >= space.size:
        raise Unsupported("No cell of this table can hold a record, so that there is nothing to choose from.")
    if space.size > MOST_CANDIDATES:
        raise TooLarge(
            f"A selection is made among at most {MOST_CANDIDATES:,} cells; this table has {space.size:,}.",
            received=space.size,
            limit=MOST_CANDIDATES,
        )
    if not 0 < epsilon <= _MOST_EPSILON:
        raise ParameterError(
            f"epsilon of a selection must be positive and at most {_MOST_EPSILON}; received {float(epsilon):g}.",
            name="epsilon",
        )
    if not scores.sensitivity(neighbours).linf:
        raise Unsupported("These scores do not depend on any unit: there is nothing to protect.")


def gaps(content: IntArray, sign: int, cells: list[int]) -> list[int]:
    """How far each candidate's score is below the best one."""
    scores = [sign * int(content[cell]) for cell in cells]
    best = max(scores)
    return [best - score for score in scores]


def first_head(heads: FloatArray) -> FloatArray:
    """The probability that each candidate is the first of a random order whose coin falls on heads.

    Candidates arrive at uniform times t: that of r is its head times the integral of the product of 1 - t h over the
    others, a polynomial.
    """
    found = []
    for r in range(len(heads)):
        polynomial = np.ones(1)
        for head in np.delete(heads, r).tolist():
            polynomial = np.convolve(polynomial, [1.0, -head])
        found.append(heads[r] * float((polynomial / np.arange(1, len(polynomial) + 1)).sum()))
    return np.array(found)


def chosen(cell: int) -> Value:
    return Value(np.array([cell], dtype=np.int64))


def selection_block(name: str, outcome: Value, law: Law) -> Block:
    space = CellSpace((Axis(variable=name, labels=("selected",)),))
    return Block(name=name, space=space, values=outcome.values, law=law, role="selection")


@dataclass(frozen=True)
class CellSelection:
    """Label of (nearly) the best cell of a table: the fullest, or the one with the largest or smallest total."""

    structure: ClassVar[str]

    name: str
    query: TableQuery
    epsilon: Fraction
    neighbours: Neighbours
    statistic: Scores | None = None
    sign: int = 1

    def __post_init__(self) -> None:
        check(self.scores, self.epsilon, self.neighbours)

    @property
    def scores(self) -> Scores:
        return self.statistic or Count(self.query)

    @property
    def rate(self) -> Fraction:
        """Loss of probability per step of the score."""
        return self.epsilon / steepness(self.scores, self.neighbours)

    def loss(self, neighbours: Neighbours) -> Fraction:
        """Epsilon at the relation it was made for, in proportion at another."""
        return self.rate * steepness(self.scores, neighbours)

    @property
    def law(self) -> Joint:
        return Joint(self.structure, {"rate": plain(self.rate), "candidates": self.query.space.size})

    @property
    def needs(self) -> tuple[Query, ...]:
        return (self.scores.query,)

    def block(self, outcome: Value) -> Block:
        return selection_block(self.name, outcome, self.law)

    def heads(self, scores: IntArray) -> FloatArray:
        """exp(-rate * (best score - its score)) of each possible cell."""
        below = gaps(scores, self.sign, candidates(self.query.space))
        return np.exp(-float(self.rate) * np.array(below, dtype=np.float64))

    def listed(self, chances: FloatArray) -> tuple[Listed, ...]:
        cells = np.array(candidates(self.query.space), dtype=np.int64)
        with np.errstate(divide="ignore"):
            return (Listed(cells[:, None], np.log(chances)),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        # How it selects, which makes it a measurement, each kind says itself.
        fullest: Any = cls("fullest", COUNTS, Fraction(2), neighbours)
        smallest: Any = cls("smallest", TOTALS.query, Fraction(2), neighbours, TOTALS, -1)
        return on_cells(fullest), on_cells(smallest)
