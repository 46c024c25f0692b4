"""The number of records in a declared range, with the three clamps that the literature discusses.

Guarantee
    `none`: epsilon-DP. `size`: epsilon-DP, the same answer cut to 0..n for a public n (a fair clamp: it uses nothing
    else). `data`: cut to {f - 1, f, f + 1} around the exact answer; epsilon-iDP at the data, and nothing more.
Requires
    One row to a unit. `data` must be acknowledged by name: its answers give f away after a handful of queries, and the
    fewer the smaller epsilon is (`dalenius attack clamp`).
Noise
    Discrete Laplace of rate epsilon. Expected |error| with a = exp(-epsilon): 2a/(1 - a^2) without a clamp (and a
    public n far away), 2a/(1 + a) clamped to the data.
Evidence
    Proved; exact probabilities in tests/measurements/test_range_query.py.
References
    Soria-Comas et al. (2017) 6.3, Table 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed, Noised
from dalenius.core.law import Additive, IntArray, Joint, Law, Withheld
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import NotAllowed, ParameterError, Unsupported
from dalenius.exact.ideal_rounding import discrete_laplace, saturated
from dalenius.measurements._distance_test import above
from dalenius.measurements._example import MeasurementExample, on_cells
from dalenius.measurements._steps import FollowingNoise, QueryStep
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

ACKNOWLEDGEMENT = "clamp_to_the_data"


class Clamp(StrEnum):
    NONE = "none"
    SIZE = "size"
    DATA = "data"


@dataclass(frozen=True, kw_only=True)
class RangeQuery(QueryStep, FollowingNoise):
    name: str
    query: TableQuery
    epsilon: Fraction
    clamp: Clamp = Clamp.NONE
    size: int | None = None
    acknowledged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.query.space.size != 1:
            raise ParameterError("A range query counts one range; ask for a table otherwise.")
        if self.clamp is Clamp.SIZE and self.size is None:
            raise ParameterError("The clamp to 0..n needs the public number of records.", name="size")
        if self.clamp is Clamp.DATA and ACKNOWLEDGEMENT not in self.acknowledged:
            raise NotAllowed(
                "The clamp to the data gives the exact count away after a few queries; the policy must acknowledge"
                f" {ACKNOWLEDGEMENT!r} by name.",
                acknowledge=ACKNOWLEDGEMENT,
            )

    _weak: ClassVar[Evidence] = Evidence(
        Level.NONE, ("Soria-Comas et al. (2017) 6.3",), ("the intruder does not know that answers are clamped",)
    )

    @property
    def evidence(self) -> Evidence:
        return self._weak if self.clamp is Clamp.DATA else DiscreteLaplace.evidence

    @property
    def law(self) -> Law:
        noise = DiscreteLaplace(self.epsilon)
        if self.clamp is Clamp.NONE:
            return Additive(noise)
        if self.clamp is Clamp.SIZE:
            return Joint("clamped", {"family": noise.name, "rate": str(self.epsilon), "from": 0, "to": self.size})
        return Withheld("The answer is cut around the confidential count.")

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        if neighbours.max_rows > 1:
            raise Unsupported("Range queries are for one row to a unit.")
        if self.clamp is Clamp.DATA and neighbours.scope is not Scope.ACTUAL_DATA:
            raise Unsupported("An answer clamped to the data is private at the data only.")
        if self.clamp is Clamp.SIZE and not neighbours.is_replace:
            raise Unsupported("The number of records is not public under add-remove.")
        return PrivacyProfile(relation=neighbours.relation, epsilon=self.epsilon, evidence=self.evidence)

    def draw(self, rng: RandomSource) -> int:
        return discrete_laplace(1 / self.epsilon, rng)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        count = int(exact[0].open_below_the_gate()[0])
        answer = saturated(count + drawn)
        if self.clamp is Clamp.DATA:
            answer = max(count - 1, min(count + 1, answer))
        elif self.clamp is Clamp.SIZE:
            answer = max(0, min(int(self.size or 0), answer))
        return Value(np.array([answer], dtype=np.int64))

    def block(self, outcome: Value) -> Block:
        space: CellSpace = self.query.space
        role = "table" if self.clamp is Clamp.NONE else "clamped"
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role=role)

    def exact_law_at(self, content: Sequence[Any], at: Sequence[Any]) -> ExactLaw:
        """The count plus noise, cut as named, to the data `at`. Guard: tests/measurements/test_range_query.py."""
        count, middle = int(content[0][0]), int(at[0][0])
        if self.clamp is Clamp.NONE:
            return (Noised([count], [DiscreteLaplace(self.epsilon)]),)
        low, high = (0, int(self.size or 0)) if self.clamp is Clamp.SIZE else (middle - 1, middle + 1)
        reached = [above(self.epsilon, point - count - 1) for point in range(low + 1, high + 1)]
        masses = (upper - lower for upper, lower in pairwise([1.0, *reached, 0.0]))
        return (Listed.of(zip(((point,) for point in range(low, high + 1)), masses, strict=True)),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        query = TableQuery(space=CellSpace(()), where=(Filter(variable="g", codes=(0,)),))
        plain = cls(name="range", query=query, epsilon=Fraction(2))
        cut = cls(name="cut", query=query, epsilon=Fraction(2), clamp=Clamp.SIZE, size=2)
        return (on_cells(plain), on_cells(cut, size=2)) if neighbours.is_replace else (on_cells(plain),)
