"""Hellinger-type perturbation: p(a, b) proportional to exp(-epsilon |sqrt b - sqrt a| / 2) on 0 <= b <= top.

Guarantee
    Pure. All rows have the same outputs, so no output is impossible; the loss is the largest log-ratio of two
    neighbouring rows of the *integer* table that is used, computed from it and rounded up. It is below the nominal
    epsilon (0.924 at 1).
Requires
    A declared largest count; larger counts are treated as that one. A move by s costs at most s times a move by one.
Noise
    Very wide (standard deviation 42 to 72 at nominal epsilon 1): kept because the paper studies it, offered to nobody.
Evidence
    Enumerated from the table.
References
    Rinott, O'Keefe, Shlomo & Skinner (2018), 5.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dalenius import limits
from dalenius.core.budget import Budget
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw
from dalenius.core.law import IntArray, Kernel
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RandomSource, words
from dalenius.core.rationals import log_upper
from dalenius.core.release import Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.exact.perturbation import kernel_law, perturb
from dalenius.measurements._example import COUNTS, MeasurementExample, on_cells
from dalenius.measurements._steps import TableStep
from dalenius.spec.document import Exact, Part, Whole
from dalenius.statistics.count import Count

_SCALE = 1 << 62
_MOST_ENTRIES = 8_000_000
# The whole table stands in the release.
_MOST_PUBLISHED = 250_000


@lru_cache(maxsize=8)
def hellinger_rows(epsilon: Fraction, largest: int, top: int) -> NDArray[np.int64]:
    """Integer rows over 2^62; floats only propose them, the privacy is computed from the integers."""
    if (largest + 1) * (top + 1) > _MOST_ENTRIES:
        raise TooLarge("This Hellinger table is too large; lower the largest count.")
    root = np.sqrt(np.arange(top + 1, dtype=np.float64))
    rows = np.empty((largest + 1, top + 1), dtype=np.int64)
    for a in range(largest + 1):
        weight = np.exp(-float(epsilon) / 2 * np.abs(root - root[a]))
        rows[a] = np.maximum((weight * (2.0**61 / weight.sum())).astype(np.int64), 1)
        rows[a][a] += _SCALE // 2 - int(rows[a].sum())
    return rows


@lru_cache(maxsize=16)
def hellinger_kernel(epsilon: Fraction, largest: int, top: int) -> Kernel:
    rows = hellinger_rows(epsilon, largest, top)
    whole = tuple(tuple(row) for row in rows.tolist())
    return Kernel(name="hellinger", firsts=(0,) * len(rows), rows=whole, scale=_SCALE // 2, is_clamped=True)


class HellingerParameters(Part, section="[privacy.noise] of hellinger"):
    """What a request may state: the largest count, and the nominal epsilon unless it is the budget's."""

    largest: Whole
    epsilon: Exact | None = None


@dataclass(frozen=True)
class Hellinger(TableStep):
    name: str
    query: TableQuery
    epsilon: Fraction
    largest: int
    Parameters: ClassVar[type[Part]] = HellingerParameters
    evidence: ClassVar[Evidence] = Evidence(Level.ENUMERATED, ("Rinott et al. (2018), 5.4",))

    def __post_init__(self) -> None:
        if self.largest < 1 or not 0 < self.epsilon <= 100:
            raise ParameterError("largest must be at least 1, and epsilon positive and at most 100.")

    @classmethod
    def of_counts(
        cls, name: str, query: TableQuery, parameters: Any, budget: Budget, neighbours: Neighbours
    ) -> "Hellinger":
        nominal = parameters.epsilon
        if nominal is None:
            if budget.epsilon is None:
                raise ParameterError("The Hellinger kernel needs epsilon.", name="epsilon")
            moved = Count(query).sensitivity(neighbours).l1
            if not moved:
                raise Unsupported("These counts do not depend on any unit.")
            nominal = budget.epsilon / moved
        step = cls(name, query, nominal, parameters.largest)
        entries = (step.largest + 1) * (step.top + 1)
        if entries > _MOST_PUBLISHED:
            raise TooLarge(
                f"The published table would have {entries:,} entries, at most {_MOST_PUBLISHED:,} are served; a smaller"
                " largest count or a larger epsilon has fewer."
            )
        limits.spend(entries)
        return step

    @property
    def top(self) -> int:
        return int(isqrt(self.largest) + 1 + int(Fraction(60) / self.epsilon)) ** 2

    @property
    def law(self) -> Kernel:
        return hellinger_kernel(self.epsilon, self.largest, self.top)

    def unit_loss(self) -> Fraction:
        """Largest log-ratio of two neighbouring rows, rounded up."""
        rows = hellinger_rows(self.epsilon, self.largest, self.top).astype(np.float64)
        ratio = max(float((rows[1:] / rows[:-1]).max()), float((rows[:-1] / rows[1:]).max()))
        # Three roundings of relative size 2^-53 went into the quotient.
        return log_upper(Fraction(ratio) * (1 + Fraction(1, 1 << 50)), 60)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        sensitivity = Count(self.query).sensitivity(neighbours)
        epsilon = self.unit_loss() * sensitivity.l1
        return PrivacyProfile(relation=neighbours.relation, epsilon=epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> IntArray:
        return (words(rng, self.query.space.size) >> np.uint64(3)).astype(np.int64)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        counts = np.clip(exact[0].open_below_the_gate(), 0, self.largest)
        shown = perturb(self.law, counts, drawn)
        shown[list(self.query.space.structural_indices)] = 0
        return Value(shown)

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Each count through its own row of the table. Guard: drawn answers, tests/measurements/test_hellinger.py."""
        return kernel_law(self.law, np.clip(content[0], 0, self.largest), self.query.space.structural_indices)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        return (on_cells(cls("counts", COUNTS, Fraction(4), 4)),)
