"""A frequency table with its data-dependent sensitivities; `count` is the statistic that plans use."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported
from dalenius.statistics._example import Example, cells, group

__all__ = ["ContingencyTable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContingencyTable:
    """Counts of rows in disjoint cells; `is_complete` says that every row falls into one of them.

    Guarantee: l1 sensitivity c under add-remove and 2c under replace (c rows to a unit; c if there is one cell and rows
    can drop out, 0 if they cannot). O'Keefe & Charest (2018) print 1 under replace: a replaced row leaves one cell and
    enters another, so Laplace noise of scale 1/epsilon spends 2 epsilon.
    Evidence: exhaustive neighbours on tiny data, tests/statistics/test_totals.py. Smooth equals global.
    """

    query: TableQuery
    is_complete: bool = False

    def value(self, cells: Sequence[int] | IntArray) -> tuple[int, ...]:
        """Exact counts from flat cell positions (-1: outside)."""
        counts = [0] * self.query.space.size
        for cell in cells:
            if cell >= 0:
                counts[cell] += 1
        return tuple(counts)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Norms for c rows to a unit."""
        c, cells = neighbours.max_rows, self.query.space.possible
        if cells == 0 or (cells == 1 and self.is_complete and neighbours.is_replace and c == 1):
            return Sensitivity.of_patterns(())
        sides = 2 if neighbours.is_replace and cells > 1 else 1
        return Sensitivity.norms(l0=min(sides * c, cells), l1=sides * c, l2_squared=sides * c * c, linf=c)

    def local(self, cells: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        """Largest l1 change that one record can make to this table, exactly."""
        if neighbours.max_rows > 1:
            raise Unsupported("Local sensitivities are for one row to a unit.")
        if not neighbours.is_replace:
            return 1 if self.query.space.possible else 0
        owners = [int(c) for c in cells]
        if any(c >= 0 for c in owners) and self.query.space.possible > 1:
            return 2
        return 1 if owners and self.query.space.possible and not self.is_complete else 0

    def smooth(self, cells: Sequence[int] | IntArray, neighbours: Neighbours) -> Fraction:
        return Fraction(max(1, int(self.sensitivity(neighbours).l1)))

    def bootstrap(self, cells: Sequence[int] | IntArray, neighbours: Neighbours) -> int:
        """Largest l1 change between neighbours made of these rows only, exactly."""
        owners = {int(c) for c in cells}
        occupied = {c for c in owners if c >= 0}
        if not neighbours.is_replace:
            return 1 if occupied else 0
        if len(occupied) > 1:
            return 2
        return 1 if occupied and -1 in owners else 0

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Two cells with rows outside them, and one cell that holds everybody."""

        def places(rows: Sequence[tuple[str | None]]) -> tuple[list[int]]:
            return ([("a", "b").index(label) if label else -1 for (label,) in rows],)

        return (
            Example(
                statistic=cls(query=TableQuery(space=cells("a", "b"))),
                variables=group("a", "b"),
                rows=(("a",), ("b",), (None,)),
                arguments=places,
            ),
            # A person has at least one row, so that two persons in one cell differ by less than their rows.
            Example(
                statistic=cls(query=TableQuery(space=cells("a")), is_complete=True),
                variables=group("a"),
                rows=(("a",),),
                arguments=places,
                is_tight=False,
            ),
        )
