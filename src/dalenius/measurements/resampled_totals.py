"""Noisy totals of several bootstrap samples of the same file, for each cell: what a private bootstrap publishes.

Guarantee
    The loss distribution of `exact/resampling_price.py`: (epsilon, delta) of all replicates together, and the rho that they have outside
    an event of probability delta. There is no pure statement and no rho without a delta.
Requires
    Rows each in at most one cell, with contributions of at most `reach` in size. For units of one row under replace noise of at least
    `reach` in each replicate, which `profile` checks; units of several rows are priced as if the multiplicities of their rows were
    published (`exact/published_loss.py`). Multiplicities are Poisson(1) for each row, drawn anew for every replicate from the source of
    all noise, and never shown.
Noise
    Discrete Gaussian in every replicate of every cell, drawn before the data are read.
Evidence
    Proved; the one step under replace that is a numerical comparison is evaluated anew at every shift (`exact/replaced_pair.py`).
    Exact losses of all neighbours of tiny data, tests/measurements/test_resampled_totals.py.
References
    Brawner & Honaker (2018), section 6, with the price that it really has; Wang, Cheng & Awan (2022).

The number of distinct values in a cell shows in the run time: a hosted service must answer on a tick.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, TableQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, NoReply, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import Unsupported
from dalenius.exact.ideal_rounding import saturated
from dalenius.exact.multiplicities import resampled_totals
from dalenius.exact.resampling_price import ResamplingPrice
from dalenius.exact.sampling import sample
from dalenius.measurements._example import CELLS, LISTS, MeasurementExample, on_cells
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

__all__ = ["ResampledTotals"]

STRUCTURE = "resampled totals"


@dataclass(frozen=True, kw_only=True)
class ResampledTotals:
    """sum of multiplicity * (factor * value - offset), plus noise, for every cell and replicate.

    What rows add comes from lists of values, one for each cell, or from a table of counts whose last axis says which of
    `contributions` a row adds. `statement` is the epsilon that the whole step was calibrated to, `failure` its delta.
    """

    name: str
    space: CellSpace
    price: ResamplingPrice
    failure: Fraction
    statement: Fraction | None = None
    lists: tuple[ValuesQuery, ...] = ()
    counting: TableQuery | None = None
    contributions: tuple[int, ...] = ()
    factor: int = 1
    offset: int = 0
    unit: Fraction = Fraction(1)
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED,
        references=("Brawner & Honaker (2018), corrected", "Wang, Cheng & Awan (2022)"),
        assumptions=("multiplicities are drawn from the same generator as the noise and are never shown",),
    )

    @cached_property
    def noise(self) -> DiscreteGaussian:
        """The noise of one total."""
        return DiscreteGaussian(self.price.sigma_squared)

    @property
    def law(self) -> Joint:
        """Everything public about the replicates."""
        return Joint(
            STRUCTURE,
            {
                "multiplicities": "poisson",
                "replicates": self.price.replicates,
                "sigma_squared": plain(self.price.sigma_squared),
                "reach": self.price.reach,
                "unit": plain(self.unit),
            }
            | ({"rows": self.price.rows} if self.price.rows > 1 else {}),
        )

    @property
    def needs(self) -> tuple[Query, ...]:
        """A table of counts, or the values of each cell."""
        return self.lists if self.counting is None else (self.counting,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """From the composed loss distribution of the relation that the noise was calibrated for."""
        if neighbours.scope is not Scope.EVERYWHERE or neighbours.max_rows > self.price.rows:
            raise Unsupported("These replicates were calibrated for units or groups of fewer rows.")
        if neighbours.is_replace != self.price.is_replace:
            raise Unsupported("These replicates were calibrated for other neighbours.")
        rho, failure = self.price.rho(self.failure)
        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=self.statement,
            delta=Fraction(0) if self.statement is None else self.failure,
            rho=rho,
            rho_delta=failure,
            curve=self.price.delta,
            evidence=self.evidence,
        )

    def draw(self, rng: RandomSource) -> IntArray:
        """The noise of every replicate of every cell; structural zeros get none."""
        noise = sample(self.noise, self.space.size * self.price.replicates, rng)
        noise = noise.reshape(self.space.size, self.price.replicates)
        noise[list(self.space.structural_indices)] = 0
        return noise

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Resample, sum and add, cell by cell; nothing of the multiplicities is kept."""
        answer = np.zeros((self.space.size, self.price.replicates), dtype=np.int64)
        structural = set(self.space.structural_indices)
        for cell, (values, counts) in enumerate(self._added([s.open_below_the_gate() for s in exact])):
            if cell not in structural:
                totals = resampled_totals(values, counts, self.price.replicates, rng)
                noisy = zip(totals, drawn[cell].tolist(), strict=True)
                answer[cell] = [saturated(total + noise) for total, noise in noisy]
        return Value(answer.ravel())

    def _added(self, content: list[IntArray]) -> list[tuple[IntArray, IntArray]]:
        """What rows of each cell add, and how many add it."""
        if self.counting is None:
            pairs = [np.unique(values, return_counts=True) for values in content]
            return [(self.factor * values - self.offset, counts) for values, counts in pairs]
        table = content[0].reshape(self.space.size, len(self.contributions))
        added = np.array(self.contributions, dtype=np.int64)
        return [(added, row) for row in table]

    @cached_property
    def whole_space(self) -> CellSpace:
        """Cells and replicates."""
        name, taken = "replicate", {axis.name for axis in self.space.axes}
        while name in taken:
            name += "_"
        labels = tuple(str(k + 1) for k in range(self.price.replicates))
        zeros = frozenset(
            (*cell, k) for cell in self.space.structural_zeros for k in range(self.price.replicates)
        )
        return CellSpace((*self.space.axes, Axis(variable=name, labels=labels)), zeros)

    def block(self, outcome: Outcome) -> Block | None:
        """The noisy totals, one for each cell and replicate."""
        if isinstance(outcome, NoReply):
            return None
        return Block(
            name=self.name, space=self.whole_space, values=outcome.values, law=self.law, role="replicates"
        )

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """Two replicates of totals about the midpoint, in two cells."""
        price = ResamplingPrice(
            reach=3,
            sigma_squared=Fraction(16),
            replicates=2,
            is_replace=neighbours.is_replace,
            has_cells=True,
            rows=neighbours.max_rows,
        )
        step = cls(
            name="replicates",
            space=CELLS,
            price=price,
            failure=Fraction(1, 10**4),
            lists=LISTS,
            factor=2,
            offset=1,
        )
        return (on_cells(step),)
