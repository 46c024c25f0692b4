"""A table of totals, each row clipped to public bounds of its own cell, plus discrete Laplace noise.

Guarantee
    epsilon-DP: cell i has noise of scale bound_i / epsilon, and a row lies in one cell (c rows: c epsilon; replaced:
    twice).
Requires
    Bounds that are public: declared, or released before (`grid_selection`). Disjoint declared cells.
Noise
    Discrete Laplace with a public scale for each cell; clipping biases the totals towards zero, which is recorded.
Evidence
    Proved; exhaustive neighbours in tests/measurements/test_clipped_totals.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1
from typing import Any, ClassVar

import numpy as np

from dalenius.core.domain import CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import FloatArray, IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError
from dalenius.exact.ideal_rounding import discrete_laplace, saturated
from dalenius.measurements._example import CELLS, LISTS, MeasurementExample, on_cells
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True, kw_only=True)
class ClippedTotals:
    name: str
    space: CellSpace
    queries: tuple[ValuesQuery, ...]
    bounds: tuple[int, ...]
    epsilon: Fraction
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Ghosh et al. (2009)",))

    def __post_init__(self) -> None:
        if not len(self.queries) == len(self.bounds) == self.space.size:
            raise ParameterError("There must be one list of values and one bound for each cell.")
        if min(self.bounds) < 1 or self.epsilon <= 0:
            raise ParameterError("Bounds are at least one step, and epsilon is positive.")

    @property
    def law(self) -> Joint:
        rates = [plain(self.epsilon / b) for b in self.bounds]
        return Joint("independent", {"family": "discrete_laplace", "rates": rates, "clipped": list(self.bounds)})

    @property
    def variances(self) -> FloatArray:
        """Variance of the noise of each cell, in squared steps; the bias of clipping is not in it."""
        rates = np.array([float(self.epsilon / b) for b in self.bounds])
        variances = [2 * exp(-r) / expm1(-r) ** 2 for r in rates]
        variance = np.array(variances, dtype=np.float64)
        variance[list(self.space.structural_indices)] = 0.0
        return variance

    @property
    def needs(self) -> tuple[Query, ...]:
        return self.queries

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        touched = neighbours.max_rows * (2 if neighbours.is_replace else 1)
        return PrivacyProfile(relation=neighbours.relation, epsilon=touched * self.epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> list[int]:
        return [discrete_laplace(b / self.epsilon, rng) for b in self.bounds]

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        totals = [
            saturated(_clipped_sum(sealed.open_below_the_gate(), b) + noise)
            for sealed, b, noise in zip(exact, self.bounds, drawn, strict=True)
        ]
        answer = np.array(totals, dtype=np.int64)
        answer[list(self.space.structural_indices)] = 0
        return Value(answer)

    def block(self, outcome: Value) -> Block:
        return Block(name=self.name, space=self.space, values=outcome.values, law=self.law, role="totals")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Clipped sums plus noise. Guard: audits run the step on both neighbours with the same noise."""
        structural = set(self.space.structural_indices)
        laws = [None if cell in structural else DiscreteLaplace(self.epsilon / b) for cell, b in enumerate(self.bounds)]
        totals = [_clipped_sum(values, b) for values, b in zip(content, self.bounds, strict=True)]
        return (Noised([0 if cell in structural else total for cell, total in enumerate(totals)], laws),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        return (on_cells(cls(name="totals", space=CELLS, queries=LISTS, bounds=(1, 2), epsilon=Fraction(2))),)


def _clipped_sum(values: IntArray, bound: int) -> int:
    return sum(np.clip(values, -bound, bound).tolist())
