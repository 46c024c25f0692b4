"""Two bounds of a variable, chosen among declared candidates near the quantiles at both ends: the bounds of what is
measured next.

Guarantee
    epsilon-DP: two selections, each with half of epsilon. A unit's rows move every score by at most max(q, 1 - q) each
    when they are added or removed, and by one each when they are replaced. rho is 2 (epsilon / 2)^2 / 8, the bounded
    range of each selection.
Requires
    A finite declared list of candidates inside the declared bounds.
Noise
    The exponential mechanism with integer weights over the candidates; how many records lie at or between them is all
    that is read.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data, tests/measurements/test_candidate_bounds.py.
References
    Smith (2011); McSherry & Talwar (2007); Dong, Durfee & Rogers (2020).

Two selections that give the same candidate are parted by a rule: the upper bound is the next one, or the lower bound
the one before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.quantile_selection import check_rate, counted_weights, score_change, score_weights, select_counted
from dalenius.measurements._example import MeasurementExample, on_values

__all__ = ["CandidateBounds"]

MOST_CANDIDATES = 1000


@dataclass(frozen=True, kw_only=True)
class CandidateBounds:
    """The places of a lower and an upper bound among rising candidates, in steps: near the `tail` and the 1 - `tail`
    quantile.
    """

    name: str
    variable: str
    where: tuple[Filter, ...]
    low: int
    high: int
    candidates: tuple[int, ...]
    epsilon: Fraction
    neighbours: Neighbours
    tail: Fraction = Fraction(1, 100)
    evidence: ClassVar[Evidence] = Evidence(level=Level.PROVED, references=("Smith (2011)", "McSherry & Talwar (2007)"))

    def __post_init__(self) -> None:
        rising = list(self.candidates) == sorted(set(self.candidates))
        if len(self.candidates) < 2 or not rising:
            raise ParameterError("candidates are at least two rising numbers, each once.", name="candidates")
        if len(self.candidates) > MOST_CANDIDATES:
            raise TooLarge(
                f"At most {MOST_CANDIDATES:,} candidates are chosen among; received {len(self.candidates):,}.",
                received=len(self.candidates),
                limit=MOST_CANDIDATES,
            )
        if self.candidates[0] < self.low or self.candidates[-1] > self.high:
            raise ParameterError(
                f"candidates must lie inside the declared bounds of {self.variable!r}.", name="candidates"
            )
        if not 0 < self.tail < Fraction(1, 2):
            raise ParameterError("tail is a share between 0 and 1/2.", name="tail")
        check_rate(self.epsilon / 2, self._change(self.neighbours))

    def _change(self, neighbours: Neighbours) -> Fraction:
        return score_change(self.tail, is_replace=neighbours.is_replace, rows=neighbours.max_rows)

    @property
    def _weights(self) -> tuple[int, ...]:
        return score_weights(self.epsilon / 2, self._change(self.neighbours), 0, max(len(self.candidates) - 1, 1))

    @property
    def law(self) -> Joint:
        """Public parameters of the selections."""
        return Joint(
            "candidate_bounds",
            {
                "candidates": list(self.candidates),
                "tail": plain(self.tail),
                "epsilon": plain(self.epsilon / 2),
                "score_change": plain(self._change(self.neighbours) / self.tail.denominator),
            },
        )

    @property
    def cuts(self) -> tuple[int, ...]:
        """Where the values are cut: at every candidate, and behind it."""
        points = {self.low, self.high + 1}
        points |= {point for each in self.candidates for point in (each, each + 1)}
        return tuple(sorted(points))

    @property
    def needs(self) -> tuple[Query, ...]:
        """How many records lie at each candidate and between them."""
        cuts = self.cuts
        labels = tuple(str(cut) for cut in cuts[:-1])
        space = CellSpace((Axis(variable=self.variable, labels=labels, cuts=cuts),))
        return (TableQuery(space=space, where=self.where),)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Pure epsilon at the relation it was made for, in proportion at another."""
        epsilon = self.epsilon * self._change(neighbours) / self._change(self.neighbours)
        return PrivacyProfile(
            relation=neighbours.relation, epsilon=epsilon, rho=2 * (epsilon / 2) ** 2 / 8, evidence=self.evidence
        )

    def draw(self, rng: RandomSource) -> None:
        """Nothing: the weights need the data."""

    def counted(self, counts: IntArray) -> tuple[list[int], list[int]]:
        """Records by the largest candidate that is not above them, and by the smallest that is not below; the ends take
        the rest.
        """
        last = len(self.candidates) - 1
        down, up = [0] * (last + 1), [0] * (last + 1)
        for cut, count in zip(self.cuts[:-1], counts.tolist(), strict=True):
            place = int(np.searchsorted(self.candidates, cut, side="right")) - 1
            is_candidate = place >= 0 and self.candidates[place] == cut
            down[max(place, 0)] += count
            up[min(place if is_candidate else place + 1, last)] += count
        return down, up

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Both selections."""
        down, up = self.counted(exact[0].open_below_the_gate())
        w = self._weights
        lower, upper = select_counted(down, self.tail, w, rng), select_counted(up, 1 - self.tail, w, rng)
        return Value(np.array(parted(lower, upper, len(self.candidates)), dtype=np.int64))

    def block(self, outcome: Value) -> Block:
        """The places of both bounds."""
        space = CellSpace((Axis(variable=self.variable, labels=("lower bound", "upper bound")),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="bounds")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every pair of places, by the weights that are drawn from. Guards: the recorder hears the weights, and
        tests/measurements/test_candidate_bounds.py bounds the loss from the score.
        """
        many, laws = len(self.candidates), []
        for counted, q in zip(self.counted(content[0]), (self.tail, 1 - self.tail), strict=True):
            weights = counted_weights(counted, q, self._weights)
            laws.append([Fraction(weight, sum(weights)) for weight in weights])
        places = product(range(many), repeat=2)
        return (Listed.of((parted(a, b, many), laws[0][a] * laws[1][b]) for a, b in places),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """Three candidates of four values."""
        step = cls(
            name="bounds",
            variable="x",
            where=(),
            low=-1,
            high=2,
            candidates=(-1, 0, 2),
            epsilon=Fraction(2),
            neighbours=neighbours,
            tail=Fraction(1, 4),
        )
        return (on_values(step),)


def parted(lower: int, upper: int, many: int) -> tuple[int, int]:
    """Two places in order that are not the same.

    >>> parted(2, 1, 4), parted(1, 1, 4), parted(3, 3, 4)
    ((1, 2), (1, 2), (2, 3))
    """
    first, last = min(lower, upper), max(lower, upper)
    if first < last:
        return first, last
    return (first, last + 1) if last + 1 < many else (first - 1, last)
