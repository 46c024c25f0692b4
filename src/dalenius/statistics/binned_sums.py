"""Sums over the rows of each cell of whole numbers that a public table gives to each bin of one or more numeric
variables.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.statistics._example import Example, Rows, cells, group, number

__all__ = ["BinnedSums"]

# Beyond so many rows in a bin nothing more is counted, so that no sum leaves 64 bits.
_MOST_ROWS = 2**36
_LARGEST = 2**24


def bins_of(variable: str, bounds: Bounds, most: int) -> tuple[Axis, tuple[int, ...]]:
    """At most so many bins of equal width over declared bounds, and twice the middle of each, in steps.

    >>> from fractions import Fraction
    >>> bins_of("x", Bounds(lower=Fraction(0), upper=Fraction(5)), 3)[1]
    (1, 5, 9)
    """
    points = bounds.high - bounds.low + 1
    width = -(-points // most)
    cuts = (*range(bounds.low, bounds.high + 1, width), bounds.high + 1)
    middles = tuple(low + high - 1 for low, high in pairwise(cuts))
    labels = tuple(str(place) for place in range(len(middles)))
    return Axis(variable=variable, labels=labels, cuts=cuts), middles


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedSums:
    """For each cell and each named array: the sum over its rows of the number that `added` gives to the row's bin.

    Guarantee: a row adds, to the arrays of one cell, the numbers of one bin, or nothing. With m_1 the largest sum and
    m_2 the largest sum of squares of their sizes over all bins, a unit with c rows moves the sums by at most c m_1 in
    the l1 norm and c sqrt(m_2) in the l2 norm when it is added or removed. Replaced, twice that in the l1 norm, and in
    the l2 norm sqrt(2) times that if no number is negative. The bins come from declared bounds, so that one exact table
    of counts is all that is read. Evidence: exhaustive neighbours on tiny data, tests/conformance/test_statistics.py.
    """

    query: TableQuery
    arrays: tuple[str, ...]
    added: tuple[tuple[int, ...], ...]
    shown: CellSpace

    def __post_init__(self) -> None:
        bins = self.query.space.size // max(self.shown.size, 1)
        if len(self.added) != len(self.arrays) or any(len(row) != bins for row in self.added):
            raise ParameterError("Every array of binned sums needs one number for each bin.")
        if any(abs(one) > _LARGEST for row in self.added for one in row):
            raise ParameterError(f"A bin adds at most {_LARGEST} to a sum.")

    @classmethod
    def of(
        cls,
        space: CellSpace,
        where: tuple[Filter, ...],
        variables: Sequence[tuple[str, Bounds, int]],
        arrays: tuple[str, ...],
        numbers: Callable[..., Sequence[int]],
    ) -> "BinnedSums":
        """Bins of each variable over the cells; `numbers` takes twice the middles of a bin and gives one number for
        each array.
        """
        axes = [bins_of(name, bounds, most) for name, bounds, most in variables]
        by_bin = [numbers(*middles) for middles in product(*(middles for _, middles in axes))]
        return cls(
            query=TableQuery(space=CellSpace((*space.axes, *(axis for axis, _ in axes))), where=where),
            arrays=arrays,
            added=tuple(tuple(int(one) for one in row) for row in zip(*by_bin, strict=True)),
            shown=space,
        )

    @property
    def needs(self) -> tuple[TableQuery, ...]:
        """Rows of each cell and bin."""
        return (self.query,)

    @property
    def space(self) -> CellSpace:
        """The cells, once for each array."""
        sums = Axis(variable="sum of", labels=self.arrays)
        zeros = frozenset((*cell, place) for cell in self.shown.structural_zeros for place in range(len(self.arrays)))
        return CellSpace((*self.shown.axes, sums), zeros)

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        """The sums from the counts; nothing in impossible cells."""
        counts = np.clip(exact[0], 0, _MOST_ROWS).reshape(self.shown.size, -1)
        sums = counts @ np.array(self.added, dtype=np.int64).T
        sums[list(self.shown.structural_indices)] = 0
        return np.asarray(sums.reshape(-1), dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """From the largest numbers of any bin."""
        open_cells = self.shown.size - len(self.shown.structural_zeros)
        if open_cells == 0:
            return Sensitivity.of_patterns(())
        by_bin = list(zip(*self.added, strict=True))
        rows, sides = neighbours.max_rows, 2 if neighbours.is_replace else 1
        is_positive = all(one >= 0 for row in self.added for one in row)
        square = rows**2 * max(sum(one * one for one in numbers) for numbers in by_bin)
        most = rows * max(abs(one) for numbers in by_bin for one in numbers)
        return Sensitivity.norms(
            l0=len(self.arrays) * min(sides * rows, open_cells),
            l1=sides * rows * max(sum(abs(one) for one in numbers) for numbers in by_bin),
            l2_squared=square * (sides if is_positive else sides**2),
            linf=most if is_positive else sides * most,
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Squared weights, and weights times a number, in two cells; numbers of both signs in one."""
        variables = group("a", "b") | number(0, 2, name="w") | number(0, 3)
        weights = [(name, variables[name].bounds, 4) for name in ("w", "x")]
        pair = cls.of(cells("a", "b"), (), weights, ("squares", "products"), lambda w, x: (w * w // 4, w * x // 4))

        def by_cell(rows: Rows) -> list[int]:
            present = [row for row in rows if row[1] is not None and row[2] is not None]
            return [
                sum(w * times for g, w, x in present if g == cell for times in ((w,) if place == 0 else (x,)))
                for cell in ("a", "b")
                for place in (0, 1)
            ]

        signed = cls.of(CellSpace(()), (), [("x", variables["x"].bounds, 4)], ("about the middle",), lambda x: (x - 3,))
        return (
            Example(
                statistic=pair,
                variables=variables,
                rows=(("a", 2, 3), ("a", 0, 3), ("b", 2, 0), ("b", 2, 3), ("b", None, 3)),
                released=by_cell,
            ),
            Example(
                statistic=signed,
                variables=number(0, 3),
                rows=((0,), (1,), (3,), (None,)),
                released=lambda rows: [sum(2 * x - 3 for (x,) in rows if x is not None)],
            ),
        )
