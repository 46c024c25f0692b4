"""Counts of a secret sample: a coin of our own draws every record or not, and the counts get additive noise.

Guarantee
    Pure. Noise of epsilon on the sample gives log(1 + q (e^epsilon - 1)) on all records, q the chance of a record. The
    loss of the mixture is exactly that. A zero-concentrated statement is derived from it: rho is not multiplied by q
    squared.
Requires
    Add-remove neighbours, one row to a unit, noise with a certain bound on the loss, and a sample that is drawn afresh
    for every release, is shown to nobody and kept nowhere.
Noise
    Binomial(count, q) plus noise; shown divided by q. The error is of sampling and noise together, and grows with the
    count.
Evidence
    Proved.
References
    Balle, Barthe & Gaboardi (2018), Theorem 8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from dalenius.core.contracts import Mechanism
from dalenius.core.evidence import Evidence
from dalenius.core.integer_law import ExactLaw, Mixed, Noised
from dalenius.core.law import Additive, IntArray, Thinned
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.amplification import Scheme, SecretSample
from dalenius.exact.bernoulli import LARGEST_DENOMINATOR, thinned
from dalenius.exact.sampling import sample
from dalenius.measurements._example import COUNTS, MeasurementExample, on_cells
from dalenius.measurements._steps import TableStep
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics.count import Count


@dataclass(frozen=True)
class SampledCount(TableStep):
    name: str
    query: TableQuery
    mechanism: Mechanism
    fraction: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1 or self.fraction.denominator > LARGEST_DENOMINATOR:
            raise ParameterError(
                f"sample is a fraction between 0 and 1 with a denominator of at most 2**32; received {self.fraction}.",
                name="sample",
            )

    @property
    def law(self) -> Thinned:
        return Thinned(Additive(self.mechanism), self.fraction)

    @property
    def evidence(self) -> Evidence:
        return Evidence(
            level=self.mechanism.evidence.level,
            references=(*self.mechanism.evidence.references, "Balle, Barthe & Gaboardi (2018), Theorem 8"),
            assumptions=("the sample is drawn afresh for this release, and nobody sees who is in it",),
        )

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        if neighbours.max_rows != 1:
            raise Unsupported("A secret sample is drawn of units with one row each, for one unit at a time.")
        inner = self.mechanism.profile(Count(self.query).sensitivity(neighbours), neighbours.relation)
        if not inner.is_pure:
            raise Unsupported(
                f"A secret sample is amplified as pure epsilon; the loss of {self.mechanism.name!r} has no certain "
                "bound."
            )
        return SecretSample(fraction=self.fraction, scheme=Scheme.POISSON).amplified(inner)

    def draw(self, rng: RandomSource) -> IntArray:
        noise = sample(self.mechanism, self.query.space.size, rng)
        if self.query.space.structural_zeros:
            noise[list(self.query.space.structural_indices)] = 0
        return noise

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """A coin for every record, afresh, then the sum with the noise.

        Records of one cell are alike here, so that only the number of those drawn matters.
        """
        counts = np.maximum(exact[0].open_below_the_gate(), 0)
        return Value(thinned(counts, self.fraction, rng) + drawn)

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """A binomial number of records in a cell, plus noise. Guard: tests/measurements/test_sampled_count.py."""
        q, structural = float(self.fraction), set(self.query.space.structural_indices)
        cells = [
            {k: comb(count, k) * q**k * (1 - q) ** (count - k) for k in range(count + 1)}
            for count in np.maximum(content[0], 0).tolist()
        ]
        return [
            Noised([max(cell)], [None]) if place in structural else Mixed(self.mechanism, cell)
            for place, cell in enumerate(cells)
        ]

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        return (on_cells(cls("sample", COUNTS, DiscreteLaplace(Fraction(2)), Fraction(1, 3))),)
