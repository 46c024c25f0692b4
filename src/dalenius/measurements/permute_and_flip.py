"""Selection of the cell with the largest count or total, by permute-and-flip.

Guarantee
    epsilon-DP. Candidates are visited in a uniform random order; candidate r is returned with probability
    exp(-rate * (best score - score of r)), rate = epsilon / largest change of the difference of two scores: of counts one row
    under add-remove, two under replace.
Requires
    Integer scores over a declared list of candidates.
Noise
    No value is released, only the label; the law depends on the scores through their differences.
Evidence
    Proved; exhaustive output probabilities on all small tables, tests/measurements/test_permute_and_flip.py.
References
    McKenna & Sheldon, Permute-and-flip (NeurIPS 2020), Theorem 1. The step is not of bounded range epsilon, so
    it is charged epsilon * tanh(epsilon / 2) in rho, never epsilon^2 / 8.

The run time depends on the scores: a hosted service must answer on a tick.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import exp
from typing import Any, ClassVar

from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, Outcome
from dalenius.core.sealed import Sealed
from dalenius.exact.bernoulli import coin_exp, shuffle
from dalenius.measurements import _selection
from dalenius.measurements._example import COUNTS, TOTALS, MeasurementExample, on_cells
from dalenius.measurements._selection import Scores
from dalenius.statistics.count import Count

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True)
class PermuteAndFlip:
    """Label of (nearly) the best cell of a table: the fullest, or the one with the largest or smallest total."""

    name: str
    query: TableQuery
    epsilon: Fraction
    neighbours: Neighbours
    statistic: Scores | None = None
    sign: int = 1
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED, references=("McKenna & Sheldon 2020, Theorem 1", "exhaustive check")
    )

    def __post_init__(self) -> None:
        _selection.check(self.scores, self.epsilon, self.neighbours)

    @property
    def scores(self) -> Scores:
        """What is compared: counts unless a statistic is given."""
        return self.statistic or Count(self.query)

    @property
    def rate(self) -> Fraction:
        """Loss of probability per step of the score."""
        return self.epsilon / _selection.steepness(self.scores, self.neighbours)

    @property
    def law(self) -> Joint:
        """Public parameters of the selection."""
        return _selection.selection_law("permute_and_flip", self.rate, self.query.space.size)

    @property
    def needs(self) -> tuple[Query, ...]:
        """The scores of the candidates."""
        return (self.scores.query,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Pure epsilon at the relation it was made for, in proportion at another."""
        epsilon = self.rate * _selection.steepness(self.scores, neighbours)
        return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> list[int]:
        """The order of the visit."""
        cells = _selection.candidates(self.query.space)
        return [cells[place] for place in shuffle(len(cells), rng)]

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """The first candidate whose coin falls on heads; the best one always does."""
        for cell, gap in zip(
            drawn, _selection.gaps(exact[0].open_below_the_gate(), self.sign, drawn), strict=True
        ):
            if coin_exp(self.rate * gap, rng):
                return _selection.chosen(cell)
        raise AssertionError("the candidate with the best score is accepted with certainty")

    def block(self, outcome: Outcome) -> Block | None:
        """The selected position, over a one-cell space."""
        return _selection.selection_block(self.name, outcome, self.law)

    def probabilities(self, counts: tuple[int, ...]) -> list[float]:
        """Output probabilities for given counts, by summing over all orders; for checks on small tables."""
        heads = [exp(-float(self.rate) * (max(counts) - c)) for c in counts]
        total = [0.0] * len(counts)
        orders = list(permutations(range(len(counts))))
        for order in orders:
            reach = 1.0
            for r in order:
                total[r] += reach * heads[r] / len(orders)
                reach *= 1 - heads[r]
        return total

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """The fuller of two cells, and the one with the smaller total of numbers of both signs."""
        smallest = cls("smallest", TOTALS.query, Fraction(2), neighbours, TOTALS, -1)
        return (on_cells(cls("fullest", COUNTS, Fraction(2), neighbours)), on_cells(smallest))
