"""Number of persons by the smallest of several bounds that would leave all of what they add to a table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Clip, Norm, Query, SizesQuery, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.statistics._example import Example, cells, group


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSizes:
    """Each person in one of the classes that declared bounds divide; whoever has no row in the table is in none.

    Guarantee: a person is in at most one class, so that one number moves by one when a person is added or removed, and
    two do when a person is replaced; g persons move the numbers by g and 2g together. Requires: the engine keeps the
    declared number of rows of a person. Classes are declared, never taken from the data. Evidence: exhaustive
    neighbours in tests/statistics/test_person_sizes.py.
    """

    query: SizesQuery
    labels: tuple[str, ...]

    @classmethod
    def of(cls, table: TableQuery, clips: Sequence[Clip], names: Sequence[str]) -> "PersonSizes":
        query = SizesQuery(table=replace(table, clip=clips[0]), clips=tuple(clips))
        return cls(query=query, labels=(*(f"≤ {name}" for name in names), f"> {names[-1]}"))

    @property
    def needs(self) -> tuple[Query, ...]:
        return (self.query,)

    @property
    def space(self) -> CellSpace:
        return CellSpace((Axis(variable="size", labels=self.labels, codes=tuple(range(len(self.labels)))),))

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        return np.asarray(exact[0], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        sides, together = 2 if neighbours.is_replace else 1, neighbours.persons
        if together == 1:
            return Sensitivity.of_patterns(((1,) * sides,))
        return Sensitivity.norms(
            l0=min(sides * together, len(self.labels)),
            l1=sides * together,
            l2_squared=sides * together**2,
            linf=together,
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        rows = (("a",), ("b",), ("c",), (None,))

        def example(*clips: Clip) -> Example:
            names = [str(clip.limit) for clip in clips]
            statistic = cls.of(TableQuery(space=cells("a", "b", "c")), clips, names)
            return Example(statistic, group("a", "b", "c"), rows, is_tight=False)

        return (
            example(Clip(norm=Norm.L1, limit=1), Clip(norm=Norm.L1, limit=2)),
            example(Clip(norm=Norm.L2, limit=3, fineness=2)),
        )
