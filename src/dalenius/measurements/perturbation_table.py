"""A frequency table shown through an imported perturbation table p(a, b), after its exact privacy was computed.

Guarantee
    (epsilon, delta) with delta computed from the integers of the table: the hockey-stick divergence of every pair of
    rows that a move can swap, smaller moves included, in both directions; several moved cells share epsilon and
    compose. The account is charged the rho that the rows themselves have outside an event of probability delta, not the
    one that (epsilon, delta) implies.
Requires
    A row for each count from 0; counts beyond the last row follow it, shifted. A table whose delta exceeds the stated
    one is refused, with the pair of counts that it gives away.
Noise
    Kernel(p): not additive in general.
Evidence
    Enumerated; tests/measurements/test_perturbation_table.py plants wrong tables.
References
    Rinott, O'Keefe, Shlomo & Skinner (2018), sections 2.2 and 4.5; Enderle, Giessing & Tent (2018) for the format.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import StringConstraints

from dalenius import limits
from dalenius.core.budget import Budget
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw
from dalenius.core.law import IntArray, Kernel
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RandomSource, words
from dalenius.core.release import Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import DocumentError, ParameterError, TooLarge
from dalenius.exact import perturbation
from dalenius.measurements._example import COUNTS, MeasurementExample, on_cells
from dalenius.measurements._steps import TableStep
from dalenius.spec.document import Name, Part
from dalenius.statistics.count import Count

_MOST_ENTRIES = 20_000
_LONGEST_TEXT = 4_000_000


class PerturbationTableParameters(Part, section="[privacy.noise] of perturbation_table"):
    """What a request states: the table itself, as text with the columns i, j, p."""

    table: Annotated[str, StringConstraints(strict=True, max_length=_LONGEST_TEXT)]
    name: Name = "imported"


@dataclass(frozen=True)
class PerturbationTable(TableStep):
    """Every cell through p(a, b), independently; priced at a chosen epsilon, refused above `most_delta`."""

    name: str
    query: TableQuery
    kernel: Kernel
    epsilon: Fraction
    most_delta: Fraction
    neighbours: Neighbours
    Parameters: ClassVar[type[Part]] = PerturbationTableParameters
    evidence: ClassVar[Evidence] = Evidence(Level.ENUMERATED, ("exact hockey-stick divergence over all rows",))

    def __post_init__(self) -> None:
        for a, row in enumerate(self.kernel.rows):
            if any(w < 0 for w in row) or sum(row) != self.kernel.scale:
                raise DocumentError(f"Row {a} of the perturbation table is not a probability distribution.")
        if self.kernel.scale > 1 << 62:
            raise DocumentError("The common denominator of a perturbation table must be at most 2^62.")
        sensitivity = Count(self.query).sensitivity(self.neighbours)
        perturbation.judge(self.kernel, sensitivity, self.epsilon, self.most_delta)

    @classmethod
    def of_counts(
        cls, name: str, query: TableQuery, parameters: Any, budget: Budget, neighbours: Neighbours
    ) -> "PerturbationTable":
        if budget.epsilon is None:
            raise ParameterError("A perturbation table is judged at an epsilon and a delta.", name="epsilon")
        kernel = perturbation.from_text(parameters.table, parameters.name)
        entries = sum(len(row) for row in kernel.rows)
        if entries > _MOST_ENTRIES:
            raise TooLarge(f"The table has {entries:,} entries; at most {_MOST_ENTRIES:,} are judged while you wait.")
        # Every pair of neighbouring rows is compared both ways, for each size of a move.
        limits.spend(4 * entries * int(Count(query).sensitivity(neighbours).linf))
        return cls(name, query, kernel, budget.epsilon, budget.delta or Fraction(0), neighbours)

    @property
    def law(self) -> Kernel:
        return self.kernel

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        sensitivity = Count(self.query).sensitivity(neighbours)

        def cell_delta(size: int, pattern: tuple[int, ...]) -> Fraction:
            return perturbation.hockey_stick(self.kernel, size, self.epsilon * size / sum(pattern))

        return PrivacyProfile(
            relation=neighbours.relation,
            sharpened=lambda: perturbation.table_rho(self.kernel, sensitivity, cell_delta),
            epsilon=self.epsilon,
            delta=perturbation.table_delta(self.kernel, sensitivity, self.epsilon),
            curve=lambda at: perturbation.table_delta(self.kernel, sensitivity, at),
            evidence=self.evidence,
        )

    def draw(self, rng: RandomSource) -> IntArray:
        """A uniform integer below the common denominator for every cell, by rejection on whole words."""
        scale, count = self.kernel.scale, self.query.space.size
        limit = (1 << 64) // scale * scale
        kept = np.empty(0, dtype=np.uint64)
        while len(kept) < count:
            fresh = words(rng, count - len(kept) + 16)
            if limit < 1 << 64:
                fresh = fresh[fresh < np.uint64(limit)]
            kept = np.concatenate([kept, fresh])
        return (kept[:count] % np.uint64(scale)).astype(np.int64)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        shown = perturbation.perturb(self.kernel, exact[0].open_below_the_gate(), drawn)
        shown[list(self.query.space.structural_indices)] = 0
        return Value(shown)

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Each count through its own row of the table. Guard: tests/measurements/test_perturbation_table.py."""
        return perturbation.kernel_law(self.kernel, content[0], self.query.space.structural_indices)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        kernel = Kernel("triangle", (-1,), ((1, 2, 1),), 4)
        return (on_cells(cls("counts", COUNTS, kernel, Fraction(1), Fraction(1), neighbours)),)
