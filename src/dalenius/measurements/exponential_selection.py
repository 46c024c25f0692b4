"""Selection of the cell with the largest count or total, by the exponential mechanism.

Guarantee
    epsilon-DP, and of bounded range epsilon, so that it costs epsilon^2 / 8 in rho. P(r) is proportional to exp(rate *
    score of r), rate = epsilon / largest change of the difference of two scores: of counts one row under add-remove,
    two under replace.
Requires
    Integer scores over a declared list of candidates.
Noise
    No value is released, only the label. Drawn exactly by rejection: a uniform candidate is kept with probability
    exp(-rate * (best score - its score)), a coin of integer arithmetic.
Evidence
    Proved; exhaustive output probabilities on all small tables, tests/measurements/test_exponential_selection.py.
References
    McSherry & Talwar (2007); Dong, Durfee & Rogers (2020) for the range; Cesar & Rogers (2021), epsilon^2 / 8.

The run time depends on the scores: a hosted service must answer on a tick.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource, below
from dalenius.core.release import Outcome
from dalenius.core.sealed import Sealed
from dalenius.exact.bernoulli import coin_exp
from dalenius.measurements.selections.cells import CellSelection, candidates, chosen, gaps


class ExponentialSelection(CellSelection):
    structure: ClassVar[str] = "exponential_selection"
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("McSherry & Talwar (2007)", "Dong, Durfee & Rogers (2020)"))

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        epsilon = self.loss(neighbours)
        rho = epsilon * epsilon / 8
        return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, rho=rho, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> None:
        """Nothing: how many candidates are tried depends on the scores."""

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        cells = candidates(self.query.space)
        below_best = gaps(exact[0].open_below_the_gate(), self.sign, cells)
        while True:
            place = below(rng, len(cells))
            if coin_exp(self.rate * below_best[place], rng):
                return chosen(cells[place])

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Weights by score. Guard: the recorder hears the scores, and derives the choice by itself."""
        heads = self.heads(content[0])
        return self.listed(heads / heads.sum())
