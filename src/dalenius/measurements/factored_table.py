"""Integer combinations of the cells of a table, one matrix for each axis, with equal exact noise on each.

Guarantee
    With discrete Gaussian noise of variance s2: rho-zCDP with rho = c^2 |u|^2 / (2 s2), |u| the longest column of the
    product of the matrices. With discrete Laplace noise of rate r: epsilon = c r |u|_1. A row moves the answers by a
    column of integers; under replace by the difference of two columns, or by one where it enters or leaves the table.
Requires
    Matrices of integers. A unit with c rows moves at most c columns. Overflow wraps, and stays private.
Noise
    Equal on all combinations; the matrices are chosen for the ranges that are asked (`dalenius.algebra.ranges`).
Evidence
    Proved: noise on the integers, integer shifts; every neighbour of tiny data, tests/plans/counts/test_ranges.py.
References
    Li et al. (2015); Canonne, Kamath & Steinke (2020).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.algebra.range_law import RangeLaw
from dalenius.algebra.ranges import Factor, row_cost, swap_cost
from dalenius.core.cells import Axis, CellSpace, numbered
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.exact.sampling import sample
from dalenius.measurements._components import gaussian_profile
from dalenius.measurements._example import COUNTS, MeasurementExample, on_cells
from dalenius.measurements._steps import QueryStep
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True, eq=False)
class FactoredTable(QueryStep):
    name: str
    query: TableQuery
    factors: tuple[Factor, ...]
    mechanism: DiscreteGaussian | DiscreteLaplace
    has_curve: bool = False
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Li et al. (2015)", "docs/explanation/margins.md"))

    @property
    def size(self) -> int:
        return int(np.prod([len(factor.matrix) for factor in self.factors], dtype=np.int64))

    @property
    def law(self) -> Joint:
        parameters = {name: plain(Fraction(value)) for name, value in self.mechanism.parameters.items()}
        return Joint("factored", {"family": self.mechanism.name, "parameters": parameters})

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        cost_of = swap_cost if neighbours.is_replace else row_cost
        cost = cost_of(self.factors, is_gaussian=isinstance(self.mechanism, DiscreteGaussian))
        if isinstance(self.mechanism, DiscreteLaplace):
            epsilon = self.mechanism.rate * cost * neighbours.max_rows
            return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, evidence=self.evidence)

        def price(grid: Mapping[str, Fraction]) -> Fraction:
            return cost * neighbours.max_rows**2 / grid[self.name]

        grid, cells = {self.name: self.mechanism.sigma_squared}, {self.name: self.size}
        return gaussian_profile(grid, cells, price, neighbours, self.evidence, has_curve=self.has_curve)

    def draw(self, rng: RandomSource) -> IntArray:
        return sample(self.mechanism, self.size, rng)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        return Value(self._combined(exact[0].open_below_the_gate()) + drawn)

    def _combined(self, counts: IntArray) -> IntArray:
        table = counts.astype(np.int64).copy()
        table[list(self.query.space.structural_indices)] = 0
        return RangeLaw(self.factors, self.mechanism.variance, np.zeros(0, dtype=np.int64)).measured(table).ravel()

    def block(self, outcome: Value) -> Block:
        labels = numbered(len(outcome.values))
        space = CellSpace((Axis(variable=self.name, labels=labels),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="combinations")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Combinations plus noise. Guard: audits run the step on both neighbours with the same noise."""
        return (Noised.equally(self._combined(content[0]), self.mechanism),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        factor = (Factor(2, intervals=((0, 2, 1), (0, 1, 2), (1, 2, 1))),)
        gaussian = cls("combinations", COUNTS, factor, DiscreteGaussian(Fraction(6)))
        laplace = cls("combinations", COUNTS, factor, DiscreteLaplace(Fraction(1, 2)))
        return on_cells(gaussian), on_cells(laplace)
