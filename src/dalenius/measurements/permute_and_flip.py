"""Selection of the cell with the largest count or total, by permute-and-flip.

Guarantee
    epsilon-DP. Candidates are visited in a uniform random order; candidate r is returned with probability exp(-rate *
    (best score - score of r)), rate = epsilon / largest change of the difference of two scores: of counts one row under
    add-remove, two under replace.
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

from collections.abc import Sequence
from typing import Any, ClassVar

from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Outcome
from dalenius.core.sealed import Sealed
from dalenius.exact.bernoulli import coin_exp, shuffle
from dalenius.measurements.selections.cells import CellSelection, candidates, chosen, first_head, gaps


class PermuteAndFlip(CellSelection):
    structure: ClassVar[str] = "permute_and_flip"
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("McKenna & Sheldon 2020, Theorem 1", "exhaustive check"))

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        return PrivacyProfile(relation=neighbours.relation, epsilon=self.loss(neighbours), evidence=self.evidence)

    def draw(self, rng: RandomSource) -> list[int]:
        cells = candidates(self.query.space)
        return [cells[place] for place in shuffle(len(cells), rng)]

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        below_best = gaps(exact[0].open_below_the_gate(), self.sign, drawn)
        pairs = zip(drawn, below_best, strict=True)
        # The candidate with the best score is accepted with certainty.
        return chosen(next(cell for cell, gap in pairs if coin_exp(self.rate * gap, rng)))

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """By the times at which candidates arrive. Guard: all orders, tests/measurements/test_permute_and_flip.py."""
        return self.listed(first_head(self.heads(content[0])))
