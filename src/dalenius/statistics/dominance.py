"""The number of cells that a few contributors dominate: a charged query, never a free flag."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import ValuesQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, Unsupported
from dalenius.statistics._example import Example, Rows, group, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominance:
    """How many of the listed cells a few contributors dominate.

    p % rule: the total less the two largest is below p % of the largest. With `k`, the (n, k) rule instead: the n
    largest hold more than k % of the total.

    Guarantee: one row changes one cell's verdict when it is added or removed, and two when it is replaced: the count
    moves by at most c, or 2 c, for c rows to a unit. Evidence: exhaustive neighbours on tiny data,
    tests/statistics/test_dominance.py.
    """

    queries: tuple[ValuesQuery, ...]
    p: int = 10
    n: int = 2
    k: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.p < 100:
            raise ParameterError("The p % rule needs 0 < p < 100.", name="p")
        if self.n < 1 or (self.k is not None and not 0 < self.k < 100):
            raise ParameterError("The (n, k) rule needs n >= 1 and 0 < k < 100.", name="k")
        if not self.queries:
            raise ParameterError("List at least one cell.")

    @property
    def query(self) -> ValuesQuery:
        return self.queries[0]

    @property
    def needs(self) -> tuple[ValuesQuery, ...]:
        return self.queries

    @property
    def space(self) -> CellSpace:
        return CellSpace((Axis(variable=self.query.value, labels=("dominated cells",)),))

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        return np.array([self.value(exact)], dtype=np.int64)

    def value(self, cells: Sequence[Sequence[int] | IntArray]) -> int:
        return sum(self.is_dominated(cell) for cell in cells)

    def is_dominated(self, values: Sequence[int] | IntArray) -> bool:
        own = sorted((abs(int(v)) for v in values), reverse=True)
        if self.k is not None:
            return bool(own) and 100 * sum(own[: self.n]) > self.k * sum(own)
        return bool(own) and 100 * sum(own[2:]) < self.p * own[0]

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        if len(self.queries) == 1:
            return Sensitivity.of_patterns(((1,),))
        sides = 2 if neighbours.is_replace else 1
        return Sensitivity.of_patterns(((min(sides * neighbours.max_rows, len(self.queries)),),))

    def local(self, cells: Sequence[Sequence[int]], neighbours: Neighbours) -> int:
        raise Unsupported("Dominance is released with its global sensitivity only.")

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        def example(statistic: "Dominance") -> Example:
            def lists(rows: Rows) -> list[list[int]]:
                return [[x for g, x in rows if g == label] for label in "ab"[: len(statistic.queries)]]

            return Example(
                statistic,
                group("a", "b") | number(1, 5),
                (("a", 5), ("b", 5), ("a", 1)),
                released=lambda rows: [statistic.value(lists(rows))],
            )

        queries = tuple(ValuesQuery(value="x", where=(Filter(variable="g", codes=(code,)),)) for code in (0, 1))
        rules = (cls(queries=queries), cls(queries=queries[:1]), cls(queries=queries, n=1, k=60))
        return tuple(map(example, rules))
