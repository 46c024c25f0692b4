"""The label of (nearly) the largest total, with noise scaled to the data: for answers that are not numbers.

Guarantee
    Individual: at the data D, the odds of any label differ by at most exp(epsilon) between D and its neighbours, with
    the scale fixed at D. Bootstrap: the same between any neighbours made of rows of D only.
Requires
    One row to a unit; a declared list of candidates (the cells); a public floor of at least one step.
Noise
    One exponential of scale 2 L / epsilon is added to every total and the largest wins, L the largest change of any
    single total: report-noisy-max, which is permute-and-flip in another form. The comparison is exact and its cost does
    not depend on the scale, which is withheld.
Evidence
    The definitions are met: proved, and checked on tiny data. Opened by the policy only.
References
    McSherry & Talwar (2007); Ding, Kifer, Sayed & Wang (2021) for the equality with permute-and-flip; O'Keefe & Charest
    (2018) section 7 and Soria-Comas et al. (2017) section 7 name the problem.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed
from dalenius.core.law import IntArray, Withheld
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.enclosures import times
from dalenius.exact.ideal_rounding import START_BITS, Ideal, LazyUniform, exponential, uniform_bits
from dalenius.measurements._example import TOTALS, MeasurementExample, on_cells
from dalenius.measurements._steps import ExtremesStep
from dalenius.measurements.selections.cells import first_head, selection_block
from dalenius.statistics.magnitude_table import MagnitudeTable


@dataclass(frozen=True, kw_only=True)
class DataDependentSelection(ExtremesStep):
    name: str
    statistic: MagnitudeTable
    epsilon: Fraction
    neighbours: Neighbours
    floor: int = 1
    evidence: ClassVar[Evidence] = Evidence(
        Level.NONE, ("Ding, Kifer, Sayed & Wang (2021)",), ("the scale of the noise follows the data",)
    )
    law: ClassVar[Withheld] = Withheld("The scale of the noise follows the values of the confidential data.")

    def __post_init__(self) -> None:
        if not self.neighbours.scope.is_data_dependent:
            raise Unsupported("For differential privacy use permute_and_flip with declared bounds.")
        if self.neighbours.max_rows > 1:
            raise Unsupported("Data-dependent sensitivities are for one row to a unit.")
        if self.floor < 1 or self.epsilon <= 0:
            raise ParameterError("The floor is at least one step, and epsilon is positive.", name="floor")

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        same = (neighbours.scope, neighbours.relation) == (self.neighbours.scope, self.neighbours.relation)
        if not same or neighbours.max_rows > 1:
            raise Unsupported("This selection is private for the scope and relation it was planned for only.")
        return PrivacyProfile(relation=neighbours.relation, epsilon=self.epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> list[Ideal]:
        return [exponential(LazyUniform(rng)) for _ in range(self.statistic.query.space.size)]

    def largest_change(self, minima: Sequence[int] | IntArray, maxima: Sequence[int] | IntArray) -> int:
        """How far any single total can move; exact, confidential."""
        pairs = [(int(a), int(b)) for a, b in zip(minima, maxima, strict=True) if a <= b]
        own = max((max(abs(a), abs(b)) for a, b in pairs), default=0)
        if self.neighbours.scope is Scope.OBSERVED_ROWS:
            within = max((b - a for a, b in pairs), default=0)
            return max(own, within if self.neighbours.is_replace else 0)
        low, high = self.statistic.low, self.statistic.high
        bound = max(abs(low), abs(high))
        if not self.neighbours.is_replace:
            return bound
        return max([bound, own, *(max(high - a, b - low) for a, b in pairs)])

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        totals, minima, maxima = (sealed.open_below_the_gate() for sealed in exact)
        scale = 2 * max(self.floor, self.largest_change(minima, maxima)) / self.epsilon
        return Value(np.array([noisy_argmax(totals, drawn, scale)], dtype=np.int64))

    def block(self, outcome: Value) -> Block:
        return selection_block(self.name, outcome, self.law)

    def exact_law_at(self, content: Sequence[Any], at: Sequence[Any]) -> ExactLaw:
        """Permute-and-flip. Guard: drawn answers, tests/measurements/test_data_dependent_selection.py."""
        rate = float(self.epsilon / (2 * max(self.floor, self.largest_change(*at[1:]))))
        heads = np.exp(-rate * (content[0].max() - content[0]).astype(np.float64))
        return (Listed(np.arange(len(heads))[:, None], np.log(first_head(heads))),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        step = cls(name="largest", statistic=TOTALS, neighbours=neighbours, epsilon=Fraction(2))
        return (on_cells(step, run_at=step.run_at),)


def noisy_argmax(scores: Sequence[int] | IntArray, drawn: Sequence[Ideal], scale: Fraction) -> int:
    """Position of the largest score + scale * E, decided at the precision that it takes."""
    bits = START_BITS
    while True:
        ends = [
            tuple((int(u) << bits) + end for end in times(e(bits), scale)) for u, e in zip(scores, drawn, strict=True)
        ]
        best = max(range(len(ends)), key=lambda r: ends[r][0])
        if all(ends[r][1] < ends[best][0] for r in range(len(ends)) if r != best):
            return best
        bits = uniform_bits(bits)
