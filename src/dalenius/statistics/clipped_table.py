"""Counts or totals in each cell of a declared table, of which a person adds at most so much to all cells together."""

from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import isqrt

from dalenius.core.conditions import Filter
from dalenius.core.domain import Bounds, CellSpace, Domain
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import MOST_STEPS, Clip, Norm, Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge
from dalenius.statistics._example import Example, cells, group, number, of_cells


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedTable:
    """A table of what persons add to its cells, each person's share scaled down to a declared norm; in parts of a step.

    Guarantee: let v be what a person adds, with norm at most L (`Clip`: a person beyond the limit adds floor(|x_i| L /
    |x|) with the sign of x_i, and the norm of the floors is at most L; rows in impossible cells are taken away after
    that, which shortens v). Added or removed, a person moves the table by v: l1 norm at most L for a clip in l1,
    Euclidean norm at most L for either, since the Euclidean norm never exceeds l1. For a clip in l2, v has at most m
    entries that are not zero (m rows, or all cells), and by Cauchy and Schwarz an l1 norm of at most L times the root
    of m. Replaced, the table moves by v - w, at most the sum of both norms. Where all entries have one sign (counts, or
    bounds on one side of zero), an entry of v - w is at most the larger one in size, |v - w|^2 <= |v|^2 + |w|^2, and no
    cell moves by more than L; in a single cell nothing moves by more than L at all. g persons add g times as much. What
    persons could add without a clip (m rows of the largest value) bounds all norms as well.
    Requires: the engine keeps at most m rows of a person and clips by `Clip`. A person's rows outside of the table do
    not count.
    Evidence: exhaustive neighbours in tests/statistics/test_clipped_table.py and, through requests, in
    tests/methods/test_clipped_count.py and test_clipped_total.py.
    """

    query: TableQuery
    clip: Clip
    low: int = 1
    high: int = 1

    @classmethod
    def counts(cls, space: CellSpace, where: tuple[Filter, ...], clip: Clip) -> "ClippedTable":
        return cls(query=TableQuery(space=space, where=where, clip=clip), clip=clip)

    @classmethod
    def totals(
        cls, domain: Domain, variable: str, space: CellSpace, where: tuple[Filter, ...], clip: Clip
    ) -> "ClippedTable":
        return cls._of(domain.variable(variable).bounds, variable, space, where, clip)

    @classmethod
    def _of(
        cls, bounds: Bounds, variable: str, space: CellSpace, where: tuple[Filter, ...], clip: Clip
    ) -> "ClippedTable":
        query = TableQuery(space=space, where=where, function=RowFunction.of(Power(variable)), clip=clip)
        return cls(query=query, clip=clip, low=bounds.low, high=bounds.high)

    def __post_init__(self) -> None:
        if self.query.clip != self.clip:
            raise ParameterError("The query must clip as the statistic says.", name="clip")

    @property
    def _has_one_sign(self) -> bool:
        return self.low >= 0 or self.high <= 0

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        group, sides = neighbours.persons, 2 if neighbours.is_replace else 1
        each = neighbours.max_rows // group
        reach = max(abs(self.low), abs(self.high)) * self.clip.fineness
        if not self.query.space.possible or not reach:
            return Sensitivity.of_patterns(())
        if each * reach >= MOST_STEPS:
            raise TooLarge(
                "All rows of a person together could add 10^18 parts of a step or more to a cell. Use a coarser step, "
                "narrower bounds or a smaller max_rows.",
                limit=MOST_STEPS,
            )
        longest = min(each * reach, self.clip.limit)
        l1 = longest
        if self.clip.norm is Norm.L2:
            l1 = min(each * reach, isqrt(self.clip.limit**2 * min(each, self.query.space.possible)))
        # How many times l1, the square of l2, and one cell can move by what one person adds.
        if not neighbours.is_replace or (self._has_one_sign and self.query.space.possible == 1):
            factors = (1, 1, 1)
        else:
            factors = (2, 2, 1) if self._has_one_sign else (2, 4, 2)
        return Sensitivity.norms(
            l0=min(sides * neighbours.max_rows, self.query.space.possible),
            l1=group * factors[0] * l1,
            l2_squared=group**2 * factors[1] * longest**2,
            linf=group * factors[2] * longest,
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        clips = (
            Clip(norm=Norm.L1, limit=3, fineness=2),
            Clip(norm=Norm.L1, limit=1),
            Clip(norm=Norm.L2, limit=5, fineness=4),
            Clip(norm=Norm.L2, limit=3, fineness=2),
        )
        counts = (of_cells(partial(cls.counts, where=(), clip=clip), is_tight=False) for clip in clips)
        values = (("a", -1), ("a", 2), ("b", -1), ("b", 2), ("a", None))

        def total(low: int, clip: Clip) -> Example:
            statistic = cls._of(number(low, 2)["x"].bounds, "x", cells("a", "b"), (), clip)
            return Example(statistic, group("a", "b") | number(low, 2), values, is_tight=False)

        totals = (total(low, clip) for low in (-1, 0) for clip in (clips[0], Clip(norm=Norm.L2, limit=3)))
        return (*chain.from_iterable(counts), *totals)
