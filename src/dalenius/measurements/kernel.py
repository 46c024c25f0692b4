"""Perturbation by a table p(a, b): a count a is shown as b with probability p(a, b), cell by cell.

Guarantee: (epsilon, delta) with delta *computed*, exactly, from the table: the largest hockey-stick divergence over
all pairs of rows that one unit can swap, for one cell, then composed over the cells a unit can change.
Requires: the table has a row for every count from 0; counts beyond the last row follow it, shifted.
Noise: Kernel(p); not additive in general.
Evidence: exact rational arithmetic over the whole table; tests/measurements/test_kernel.py plants wrong tables.
References: Rinott, O'Keefe, Shlomo & Skinner (2018), section 2.2; hockey-stick divergence, algorithms 9.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import IntArray, Kernel
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, TableQuery
from dalenius.core.randomness import RandomSource, below
from dalenius.core.rationals import exp_lower
from dalenius.core.release import Block, NoReply, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DocumentError, Unsupported
from dalenius.exact.perturbation import table_rho
from dalenius.measurements._example import COUNTS, MeasurementExample, on_cells
from dalenius.statistics.count import Count

__all__ = ["KernelTable"]


@dataclass(frozen=True)
class KernelTable:
    """A frequency table shown through p(a, b), priced at a chosen epsilon."""

    name: str
    query: TableQuery
    kernel: Kernel
    epsilon: Fraction
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.ENUMERATED, references=("exact hockey-stick over all rows",)
    )

    def __post_init__(self) -> None:
        for a, row in enumerate(self.kernel.rows):
            if any(w < 0 for w in row) or sum(row) != self.kernel.scale:
                raise DocumentError(f"Row {a} of the perturbation table is not a probability distribution.")

    @property
    def law(self) -> Kernel:
        """The table itself is public."""
        return self.kernel

    @property
    def needs(self) -> tuple[Query, ...]:
        """One frequency table."""
        return (self.query,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """The worst pattern of change: epsilons add; deltas compose as events that one cell gives the count away."""
        sensitivity = Count(self.query).sensitivity(neighbours)
        epsilon, delta = worst_pattern(self.kernel, sensitivity, self.epsilon)

        def cell_delta(size: int, _: tuple[int, ...]) -> Fraction:
            return largest_delta(self.kernel, size, self.epsilon)

        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=epsilon,
            delta=delta,
            sharpened=lambda: table_rho(self.kernel, sensitivity, cell_delta),
            evidence=self.evidence,
        )

    def draw(self, rng: RandomSource) -> list[int]:
        """A uniform integer below the common denominator for every cell."""
        return [below(rng, self.kernel.scale) for _ in range(self.query.space.size)]

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Inverse distribution function of the row of each exact count."""
        counts = exact[0].open_below_the_gate()
        cumulative = [np.cumsum(np.array(row, dtype=object)) for row in self.kernel.rows]
        last = len(cumulative) - 1
        shown = np.zeros(len(counts), dtype=np.int64)
        structural = set(self.query.space.structural_indices)
        for i, (a, u) in enumerate(zip(counts.tolist(), drawn, strict=True)):
            row = min(a, last)
            position = int(np.searchsorted(cumulative[row], u, side="right"))
            shown[i] = 0 if i in structural else self.kernel.firsts[row] + max(a - last, 0) + position
        return Value(shown)

    def block(self, outcome: Outcome) -> Block | None:
        """The released array."""
        if isinstance(outcome, NoReply):
            return None
        return Block(name=self.name, space=self.query.space, values=outcome.values, law=self.kernel)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """A table of three outputs a row."""
        kernel = Kernel("triangle", (-1,), ((1, 2, 1),), 4)
        return (on_cells(cls("counts", COUNTS, kernel, Fraction(1))),)


def worst_pattern(kernel: Kernel, sensitivity: Sensitivity, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of the whole table, given a pure part `epsilon` for a cell that moves by one."""
    if sensitivity.patterns is None:
        raise Unsupported(
            "A perturbation table is priced from patterns of change; lower max_rows to 12 or less."
        )
    worst = (Fraction(0), Fraction(0))
    for pattern in sensitivity.patterns:
        pure, keep = Fraction(0), Fraction(1)
        for size in pattern:
            pure += epsilon * size
            keep *= 1 - largest_delta(kernel, size, epsilon)
        worst = (max(worst[0], pure), max(worst[1], 1 - keep))
    return worst


def largest_delta(kernel: Kernel, size: int, epsilon: Fraction) -> Fraction:
    """delta of one cell at epsilon * size; a smaller move than the extreme can lose more where a table is not monotone."""
    return max(kernel_delta(kernel, s, epsilon * size) for s in range(1, size + 1))


def kernel_delta(kernel: Kernel, size: int, epsilon: Fraction) -> Fraction:
    """max over a of the hockey-stick divergence between rows a and a + size, both ways, rounded up."""
    factor = exp_lower(epsilon)
    deltas = [Fraction(0)]
    for a in range(len(kernel.rows)):
        one, other = _row(kernel, a), _row(kernel, a + size)
        deltas += [_divergence(one, other, factor), _divergence(other, one, factor)]
    return min(max(deltas) / kernel.scale, Fraction(1))


def _row(kernel: Kernel, a: int) -> dict[int, int]:
    last = len(kernel.rows) - 1
    row: Sequence[int] = kernel.rows[min(a, last)]
    first = kernel.firsts[min(a, last)] + max(a - last, 0)
    return {first + i: w for i, w in enumerate(row) if w}


def _divergence(p: dict[int, int], q: dict[int, int], factor: Fraction) -> Fraction:
    return sum((max(Fraction(0), w - factor * q.get(b, 0)) for b, w in p.items()), Fraction(0))
