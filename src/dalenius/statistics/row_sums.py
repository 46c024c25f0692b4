"""Sums of one or several row functions over each cell, measured together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.statistics._bases import Basis, Parabola, Separate, Simplex
from dalenius.statistics._example import Example, Row, cells, group, number
from dalenius.statistics._moves import reachable


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSums:
    """For each cell and each query: the exact sum of its row function, halved as often as the query says.

    Guarantee: that of the basis, which bounds what one row adds to the arrays of one cell; halved sums move by at most
    one unit more wherever they move. A row that keeps its publicly known attributes moves a single sum by less, where
    they decide its cell. Evidence: exhaustive neighbours on tiny data, tests/conformance/test_statistics.py.
    """

    needs: tuple[TableQuery, ...]
    basis: Basis

    def __post_init__(self) -> None:
        if len({(query.space, query.halvings) for query in self.needs}) != 1:
            raise ParameterError("Sums that are measured together have the same cells.")

    @property
    def query(self) -> TableQuery:
        """The first of the tables; `needs` are all of them."""
        return self.needs[0]

    @property
    def space(self) -> CellSpace:
        space, arrays = self.needs[0].space, len(self.needs)
        if arrays == 1:
            return space
        axis = Axis(variable="sum", labels=tuple(str(place) for place in range(arrays)))
        zeros = frozenset((*cell, place) for cell in space.structural_zeros for place in range(arrays))
        return CellSpace((*space.axes, axis), zeros)

    def combine(self, exact: Sequence[IntArray]) -> IntArray:
        return np.stack(exact, axis=-1).reshape(-1)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        first = self.needs[0]
        cells = reachable(first, neighbours) if isinstance(self.basis, Separate) else first.space.possible
        moved = self.basis.sensitivity(neighbours, cells, len(self.needs))
        return moved.halved(first.halvings) if first.halvings else moved

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        space, both = cells("a", "b"), group("a", "b") | number(-1, 2)
        rows: tuple[Row, ...] = (("a", -1), ("a", 2), ("b", 0), ("b", 2), ("b", None))
        whole = CellSpace(())
        weighted = both | number(0, 3, name="w")

        def single(low: int, high: int, shift: int, *factors: Power, halvings: int = 0) -> RowSums:
            query = TableQuery(space=space, function=RowFunction(powers=factors), shift=shift, halvings=halvings)
            return cls(needs=(query,), basis=Separate(low=low, high=high))

        def powers(degree: int, *weight: Power, total: int, halvings: int = 0) -> RowSums:
            up, down = Power("x", offset=1), Power("x", slope=-1, offset=2)
            mixed = ((replace(up, exponent=i), replace(down, exponent=degree - i), *weight) for i in range(degree + 1))
            functions = [RowFunction(powers=p, multiple=comb(degree, i)) for i, p in enumerate(mixed)]
            queries = tuple(TableQuery(space=space, function=one, halvings=halvings) for one in functions)
            return cls(needs=queries, basis=Simplex(total=total))

        def parabola(low: int, high: int, is_pure: bool) -> Example:
            basis = Parabola.of(low, high, is_pure=is_pure)
            functions = (
                RowFunction.of(Power("x", offset=-low), multiple=basis.first),
                RowFunction.of(Power("x", offset=-basis.centre, exponent=2), multiple=basis.second),
            )
            return Example(
                cls(needs=tuple(TableQuery(space=whole, function=f) for f in functions), basis=basis),
                number(low, high, missing=str(low)),
                tuple((x,) for x in range(low, high + 1)),
                size=2,
                released=lambda data: [
                    basis.first * sum(x - low for (x,) in data),
                    basis.second * sum((x - basis.centre) ** 2 for (x,) in data),
                ],
                is_tight=False,
            )

        def corners(halvings: int = 0) -> RowSums:
            ends = (Power("x", offset=1), Power("x", slope=-1, offset=2))
            others = (Power("w"), Power("w", slope=-1, offset=3))
            functions = [RowFunction.of(own, other) for own in ends for other in others]
            queries = tuple(TableQuery(space=space, function=one, halvings=halvings) for one in functions)
            return cls(needs=queries, basis=Simplex(total=9))

        heavy: tuple[Row, ...] = (("a", -1, 3), ("a", 2, 3), ("b", 0, 3), ("b", 2, 3), ("b", 1, None))
        between = Filter(variable="x", low=-1, high=-1), Filter(variable="x", low=2, high=2)
        outside = cls(needs=tuple(TableQuery(space=space, where=(each,)) for each in between), basis=Simplex(total=1))
        cut = Power("x", offset=-1, cut=(0, 1))
        alone = TableQuery(space=whole, function=RowFunction.of(Power("x")))
        complete = cls(needs=(alone,), basis=Separate(low=1, high=3, is_complete=True))
        return (
            Example(single(-1, 2, 0, Power("x")), both, rows),
            Example(single(-2, 2, 2, Power("x", exponent=2)), both, rows),
            Example(single(-1, 0, 0, cut), both, rows, is_tight=False),
            Example(single(-3, 6, 0, Power("x"), Power("w")), weighted, heavy),
            Example(single(-9, 18, 0, Power("x"), Power("w", exponent=2), halvings=2), weighted, heavy, is_tight=False),
            Example(powers(1, total=3), both, rows),
            Example(powers(2, total=9), both, rows, is_tight=False),
            Example(powers(2, total=9, halvings=1), both, rows, is_tight=False),
            Example(powers(1, Power("w", slope=2, offset=2), total=24), weighted, heavy, is_tight=False),
            Example(corners(), weighted, heavy, is_tight=False),
            Example(corners(1), weighted, heavy, is_tight=False),
            Example(outside, both, rows, is_tight=False),
            Example(complete, number(1, 3, missing="1"), ((1,), (3,)), size=2, is_tight=False),
            *(parabola(-1, high, is_pure) for high in (2, 3) for is_pure in (True, False)),
        )
