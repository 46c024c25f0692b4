"""Selection of the cell with the largest count or total, by the exponential mechanism.

Guarantee
    epsilon-DP, and of bounded range epsilon, so that it costs epsilon^2 / 8 in rho. P(r) is proportional to
    exp(rate * score of r), rate = epsilon / largest change of the difference of two scores: of counts one row under add-remove,
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

from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Any, ClassVar

from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, TableQuery
from dalenius.core.randomness import RandomSource, below
from dalenius.core.release import Block, Outcome
from dalenius.core.sealed import Sealed
from dalenius.exact.bernoulli import coin_exp
from dalenius.measurements import _selection
from dalenius.measurements._example import COUNTS, TOTALS, MeasurementExample, on_cells
from dalenius.measurements._selection import Scores
from dalenius.statistics.count import Count

__all__ = ["ExponentialSelection"]


@dataclass(frozen=True)
class ExponentialSelection:
    """Label of (nearly) the best cell of a table: the fullest, or the one with the largest or smallest total."""

    name: str
    query: TableQuery
    epsilon: Fraction
    neighbours: Neighbours
    statistic: Scores | None = None
    sign: int = 1
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED, references=("McSherry & Talwar (2007)", "Dong, Durfee & Rogers (2020)")
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
        return _selection.selection_law("exponential_selection", self.rate, self.query.space.size)

    @property
    def needs(self) -> tuple[Query, ...]:
        """The scores of the candidates."""
        return (self.scores.query,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Pure epsilon at the relation it was made for, in proportion at another; its losses span epsilon."""
        epsilon = self.rate * _selection.steepness(self.scores, neighbours)
        return PrivacyProfile(
            relation=neighbours.relation, epsilon=epsilon, rho=epsilon * epsilon / 8, evidence=self.evidence
        )

    def draw(self, rng: RandomSource) -> None:
        """Nothing: how many candidates are tried depends on the scores."""

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Uniform candidates until a coin falls on heads; the best one's always does."""
        cells = _selection.candidates(self.query.space)
        gaps = _selection.gaps(exact[0].open_below_the_gate(), self.sign, cells)
        while True:
            place = below(rng, len(cells))
            if coin_exp(self.rate * gaps[place], rng):
                return _selection.chosen(cells[place])

    def block(self, outcome: Outcome) -> Block | None:
        """The selected position, over a one-cell space."""
        return _selection.selection_block(self.name, outcome, self.law)

    def probabilities(self, counts: tuple[int, ...]) -> list[float]:
        """Output probabilities for given counts; for checks on small tables."""
        weights = [exp(-float(self.rate) * (max(counts) - c)) for c in counts]
        return [weight / sum(weights) for weight in weights]

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """The fuller of two cells, and the one with the smaller total of numbers of both signs."""
        smallest = cls("smallest", TOTALS.query, Fraction(2), neighbours, TOTALS, -1)
        return (on_cells(cls("fullest", COUNTS, Fraction(2), neighbours)), on_cells(smallest))
