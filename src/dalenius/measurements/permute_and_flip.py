"""Selection of the cell with the largest count, by permute-and-flip.

Guarantee: epsilon-DP. Candidates are visited in a uniform random order; candidate r is returned with probability
exp(-rate * (max count - count_r)), where rate = epsilon / (factor * c), c the rows of a unit. Under add-remove all
counts move in one direction (monotone utilities) and factor is 1; under replace some rise and some fall and it is 2.
Requires: integer counts over a declared list of candidates.
Noise: no value is released, only the label; the law depends on the counts through their differences.
Evidence: exhaustive output probabilities on all small count vectors, tests/measurements/test_permute_and_flip.py.
References: McKenna & Sheldon, Permute-and-flip (NeurIPS 2020), Theorem 1. The step is not of bounded range epsilon, so
it is charged epsilon * tanh(epsilon / 2) in rho, never epsilon^2 / 8.

The run time depends on the counts: a hosted service must answer on a tick.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import exp
from typing import Any, ClassVar

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, NoReply, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.exact.bernoulli import coin_exp, shuffle
from dalenius.measurements._example import COUNTS, MeasurementExample, on_cells

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True)
class PermuteAndFlip:
    """Label of (nearly) the fullest cell of a table."""

    name: str
    query: TableQuery
    epsilon: Fraction
    neighbours: Neighbours
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED,
        references=("McKenna & Sheldon 2020, Theorem 1", "algorithms 2.6, exhaustive check"),
    )

    @property
    def rate(self) -> Fraction:
        """Loss of probability per missing count."""
        factor = 2 if self.neighbours.is_replace else 1
        return self.epsilon / (factor * self.neighbours.max_rows)

    @property
    def law(self) -> Joint:
        """Public parameters of the selection."""
        return Joint("permute_and_flip", {"rate": str(self.rate)})

    @property
    def needs(self) -> tuple[Query, ...]:
        """The counts of the candidates."""
        return (self.query,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Pure epsilon at the relation it was made for."""
        factor = 2 if neighbours.is_replace else 1
        epsilon = self.rate * factor * neighbours.max_rows
        return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> list[int]:
        """The order of the visit."""
        return shuffle(self.query.space.size, rng)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """The first candidate whose coin falls on heads; the best one always does."""
        counts = exact[0].open_below_the_gate()
        best = int(counts.max())
        for candidate in drawn:
            if coin_exp(self.rate * (best - int(counts[candidate])), rng):
                return Value(np.array([candidate], dtype=np.int64))
        raise AssertionError("the candidate with the largest count is accepted with certainty")

    def block(self, outcome: Outcome) -> Block | None:
        """The selected position, over a one-cell space."""
        if isinstance(outcome, NoReply):
            return None
        space = CellSpace((Axis(variable=self.name, labels=("selected",)),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="selection")

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
        """The fuller of two cells."""
        return (on_cells(cls("fullest", COUNTS, Fraction(2), neighbours)),)
