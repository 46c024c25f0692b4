"""Fourier coefficients of a binary table, each with its own integer noise.

Guarantee
    The coefficient of A, f_A = sum over rows of (-1)^(number of second categories among A), moves by one when a row is
    added or removed; when a row is replaced by one that differs in the axes S it moves by two if |A and S| is odd and
    not at all otherwise. Losses add over coefficients; the profile takes the worst S.
Requires
    Axes of exactly two labels. A unit with c rows moves a coefficient by at most c times as much.
Noise
    One integer law for each coefficient. Margins are sums of coefficients, so they agree with each other by
    construction.
Evidence
    Proved; exhaustive on all pairs of records in tests/measurements/test_fourier.py.
References
    Barak, Chaudhuri, Dwork, Kale, McSherry & Talwar (2007); Rinott et al. (2018), section 7.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, ClassVar

import numpy as np

from dalenius.algebra.margins import Margin, grouped, holder, sum_out
from dalenius.algebra.moves import Move, Pattern, moves
from dalenius.core.conditions import Filter
from dalenius.core.contracts import Mechanism
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Noised
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported
from dalenius.exact.sampling import sample
from dalenius.measurements._example import CELLS, MeasurementExample, on_cells
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

_MOST_BITS = 256


def coefficient_shift(margin: Margin, pattern: Pattern) -> int:
    """How far the coefficient moves: one for an added record, two or none for a replaced one."""
    if pattern is None:
        return 1
    return 2 * (len(pattern.intersection(margin)) % 2)


@dataclass(frozen=True, eq=False)
class Fourier:
    """Noisy coefficients; `noise[A]` is the law of the integer noise on the coefficient of A."""

    name: str
    axes: tuple[Axis, ...]
    where: tuple[Filter, ...]
    noise: Mapping[Margin, Mechanism]
    is_size_public: bool = False
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Barak et al. (2007)",))

    def __post_init__(self) -> None:
        if any(len(self.axes[a]) != 2 for margin in self.noise for a in margin):
            raise Unsupported("Fourier coefficients need variables of exactly two categories.")

    @cached_property
    def _tables(self) -> tuple[Margin, ...]:
        return grouped(self.noise, [len(axis) for axis in self.axes])

    @property
    def needs(self) -> tuple[Query, ...]:
        return tuple(
            TableQuery(space=CellSpace(tuple(self.axes[a] for a in m)), where=self.where) for m in self._tables
        )

    @property
    def law(self) -> Joint:
        def described(law: Mechanism) -> dict[str, Any]:
            return {"family": law.name, "parameters": {k: plain(Fraction(v)) for k, v in law.parameters.items()}}

        components = [{"axes": list(a)} | described(law) for a, law in self.noise.items()]
        axes, shape = [axis.name for axis in self.axes], [len(axis) for axis in self.axes]
        return Joint("fourier", {"axes": axes, "shape": shape, "components": components})

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        axes = sorted({a for margin in self.noise for a in margin})
        is_public = self.is_size_public and neighbours.max_rows == 1
        ways = moves(0, axes, is_replace=neighbours.is_replace, is_size_public=is_public)
        steps: dict[tuple[Margin, int], PrivacyProfile] = {}
        for a, law in self.noise.items():
            for size in {coefficient_shift(a, pattern) * neighbours.max_rows for _, pattern in ways} - {0}:
                one = Sensitivity.of_patterns(((size,),))
                steps[a, size] = law.profile(one, neighbours.relation)
        views: dict[str, dict[tuple[Margin, int], Fraction]] = {
            "rho": {key: step.zero_concentrated()[0] for key, step in steps.items()},
            "rho_delta": {key: step.zero_concentrated()[1] for key, step in steps.items()},
        }
        if all(step.is_pure for step in steps.values()):
            views["epsilon"] = {key: step.epsilon or Fraction(0) for key, step in steps.items()}
        costs = {view: self._worst(prices, ways, neighbours.max_rows) for view, prices in views.items()}
        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=costs.get("epsilon"),
            rho=costs["rho"],
            rho_delta=costs["rho_delta"],
            evidence=self.evidence,
        )

    def _worst(self, prices: Mapping[tuple[Margin, int], Fraction], ways: Sequence[Move], rows: int) -> Fraction:
        """The largest sum of prices over the ways of change, on a common denominator or rounded up."""
        scale = lcm(*(price.denominator for price in prices.values())) if prices else 1
        if scale.bit_length() > _MOST_BITS:
            scale = 1 << _MOST_BITS
        whole = {key: -(-price.numerator * scale // price.denominator) for key, price in prices.items()}
        totals = [0] * len(ways)
        for a in self.noise:
            for k, (_, pattern) in enumerate(ways):
                totals[k] += whole.get((a, coefficient_shift(a, pattern) * rows), 0)
        return Fraction(max(totals, default=0), scale)

    def draw(self, rng: RandomSource) -> IntArray:
        return np.concatenate([sample(law, 1, rng) for law in self.noise.values()])

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        return Value(self._coefficients([table.open_below_the_gate() for table in exact]) + drawn)

    def _coefficients(self, content: Sequence[IntArray]) -> IntArray:
        tables = {m: table.reshape((2,) * len(m)) for m, table in zip(self._tables, content, strict=True)}
        values = []
        for a in self.noise:
            from_table = holder(a, self._tables)
            counts = sum_out(tables[from_table], from_table, a)
            for _ in a:
                counts = counts[0] - counts[1]
            values.append(int(counts))
        return np.array(values, dtype=np.int64)

    def block(self, outcome: Value) -> Block:
        labels = tuple(" x ".join(self.axes[a].name for a in m) or "total" for m in self.noise)
        space = CellSpace((Axis(variable=self.name, labels=labels),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="fourier coefficients")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Coefficients plus noise. Guard: audits run the step on both neighbours with the same noise."""
        return (Noised(self._coefficients(content).tolist(), list(self.noise.values())),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        noise = DiscreteLaplace(Fraction(1, 2))
        return (on_cells(cls("coefficients", CELLS.axes, (), {(): noise, (0,): noise})),)
