"""Levels of a tree, and residual components of detail axes inside every node, in one step with exact integer Gaussian
noise.

Guarantee
    rho-zCDP with rho = c^2 / 2 * max over ways of change of sum over parts of |w|^2 / s2, computed in integers. Part
    (l, A) is measured as N_A M + E at every node of level l, with E discrete Gaussian of variance s2 in each cell, and
    only differences from a reference cell along each detail axis are kept. A neighbour moves one node (two under
    replace) by N_A e_j, of which the differences see the integer vector w = tensor(n_i e - 1) alone: they are
    post-processing of an integer shift of independent discrete Gaussians.
Requires
    **The uncentred array is never released**, but for the component of no detail axis, which is the count of the node
    itself. A unit with c rows multiplies the shift by at most c. The tree is declared; a record lies in one node of
    each level.
Noise
    The optimum over all Gaussian mechanisms on balanced trees; on others the best precisions that are equal within a
    level.
Evidence
    Proved (docs/explanation/margins.md); exhaustive neighbours on tiny data in
    tests/measurements/test_tree_residual.py.
References
    Xiao, He, Zhang & Kifer (2023); Cumings-Menon (2024); Canonne, Kamath & Steinke (2020).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.margins import Margin, grouped, sum_out
from dalenius.algebra.tree import Tree
from dalenius.algebra.tree_cost import ALONE, exact_cost, moves
from dalenius.algebra.tree_table import Part
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query
from dalenius.core.rationals import plain
from dalenius.measurements._components import ComponentsStep, gaussian_profile, priced_by, step_of, table_query
from dalenius.measurements._example import AMOUNTS, CELLS, MeasurementExample, on_cells
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

__all__ = ["TreeResidual"]


@dataclass(frozen=True, eq=False)
class TreeResidual(ComponentsStep):
    """Noisy parts; `grid[l, A]` is the variance of the integer noise of component A at level l, in units of 1/N_A.

    `levels` are the axes of the levels below the root, coarse ones first. `is_size_public` says that no neighbour can
    have another number of rows in the table; the planner sets it. With `amounts` the parts are of totals, and a row
    moves them by what it adds.
    """

    name: str
    tree: Tree
    levels: tuple[Axis, ...]
    detail: tuple[Axis, ...]
    where: tuple[Filter, ...]
    grid: Mapping[Part, Fraction]
    is_size_public: bool = False
    amounts: Amounts | None = None
    has_curve: bool = False
    first: ClassVar[int] = 1

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.detail)

    @cached_property
    def _tables(self) -> tuple[Part, ...]:
        """Few tables of which all parts are sums, the finest level first."""
        chosen: list[Part] = []
        for level in range(self.tree.depth, -1, -1):
            own = {a for at, a in self.grid if at == level and not _held((at, a), chosen)}
            chosen += [(level, margin) for margin in grouped(own, self.shape)] if own else []
        return tuple(chosen)

    @property
    def needs(self) -> tuple[Query, ...]:
        return tuple(
            table_query(
                CellSpace((*self.levels[level - 1 : level], *(self.detail[i] for i in margin))),
                self.where,
                self.amounts,
            )
            for level, margin in self._tables
        )

    @property
    def law(self) -> Joint:
        """Everything needed to draw such blocks again, beside the tree, which the law of the release carries."""
        nodes = {"levels": [axis.name for axis in self.levels], "nodes": list(self.tree.sizes)}
        detail = {"shape": list(self.shape), "axes": [axis.name for axis in self.detail]}
        components = [
            {"level": level, "axes": list(a), "noise_variance": plain(v)} for (level, a), v in self.grid.items()
        ]
        noise = {"family": DiscreteGaussian.name, "components": components}
        return Joint("tree_residual", nodes | detail | noise | step_of(self.amounts))

    def _cells(self, part: Part) -> tuple[int, ...]:
        return (self.tree.sizes[part[0]], *(self.shape[i] for i in part[1]))

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Zero-concentrated, for the worst way of change."""
        axes = sorted({i for _, margin in self.grid for i in margin})
        ways = moves(
            self.tree.depth,
            axes,
            is_replace=neighbours.is_replace,
            is_size_public=self.is_size_public and neighbours.max_rows == 1,
        )
        price: Callable[[Mapping[Part, Fraction]], Fraction] = priced_by(
            lambda grid: exact_cost(self.shape, grid, ways),
            lambda grid: exact_cost(self.shape, grid, (ALONE,)),
            self.amounts,
            neighbours,
        )
        # Each row lies in one node of a level, and under replace another comes with it.
        touched = neighbours.max_rows * (2 if neighbours.is_replace else 1)
        cells = {
            (level, a): min(self.tree.sizes[level], touched) * prod(self.shape[i] for i in a) for level, a in self.grid
        }
        return gaussian_profile(self.grid, cells, price, neighbours, self.evidence, has_curve=self.has_curve)

    def _scaled(self, content: Sequence[IntArray]) -> list[IntArray]:
        counts = {p: table.reshape(self._cells(p)) for p, table in zip(self._tables, content, strict=True)}
        parts = []
        for part in self.grid:
            level, margin = part
            held = _held(part, self._tables)
            assert held is not None
            summed = self.tree.summed(sum_out(counts[held], (-1, *held[1]), (-1, *margin)), held[0], level)
            parts.append(summed.reshape(self._cells(part)) * np.int64(prod(self.shape[i] for i in margin)))
        return parts

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """A total and its two parts; and differences at the root of a tree without branches."""
        none: Margin = ()
        leaves = Tree.of_groups([[0, 1]])
        along = cls("parts", leaves, CELLS.axes, (), (), {(0, none): Fraction(2), (1, none): Fraction(1)})
        root = Tree(())
        inside = cls("parts", root, (), CELLS.axes, (), {(0, none): Fraction(1), (0, (0,)): Fraction(2)})
        wide = {(0, none): Fraction(8), (1, none): Fraction(8)}
        both = (AMOUNTS, AMOUNTS.halved(1))
        totals = (cls("parts", leaves, CELLS.axes, (), (), wide, amounts=each) for each in both)
        return on_cells(along), on_cells(inside), *map(on_cells, totals)


def _held(part: Part, tables: tuple[Part, ...] | list[Part]) -> Part | None:
    """The smallest of some tables of which a part is a sum."""
    level, margin = part
    able = [t for t in tables if t[0] >= level and set(margin) <= set(t[1])]
    return min(able, key=lambda t: (t[0], len(t[1]), t[1]), default=None)
