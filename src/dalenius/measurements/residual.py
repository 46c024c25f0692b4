"""All residual components of a list of margins, or of levels of a tree, in one step with exact integer Gaussian noise.

Guarantee
    rho-zCDP with rho = c^2 / 2 * max over ways of change of sum over parts of |w|^2 / s2, computed in integers. Part
    (l, A) is measured as N_A M + E at every node of level l, with E discrete Gaussian of variance s2 in each cell and
    N_A the number of cells of A, and only differences from a reference cell along each detail axis are kept. A
    neighbour moves one node (two under replace) by N_A e_j; the part of it that the differences can see equals that of
    the integer vector w = tensor(n_i e - 1), of squared length prod n_i (n_i - 1), so the released differences are
    post-processing of an integer shift by w of independent discrete Gaussians.
Requires
    **The uncentred array is never released**, but for the component of no detail axis, which is the count of the node
    itself. A unit with c rows multiplies the shift by at most c. The tree is declared; a record lies in one node of
    each level. Under replace, two records of one node that differ in the axes S are 2 (p_A - prod([i not in S] -
    1/n_i)) apart; the worst way is taken over all levels and patterns.
Noise
    Without a tree, and on balanced ones, the optimum over all Gaussian mechanisms that do not prefer one category to
    another, for the chosen objective; on other trees the best precisions that are equal within a level.
Evidence
    Proved (docs/explanation/margins.md); exhaustive output laws on tiny shapes in tests/measurements/test_residual.py,
    every pair of records of a tiny tree in tests/measurements/test_levels.py.
References
    Xiao, He, Zhang & Kifer (2023); Cumings-Menon (2024); Canonne, Kamath & Steinke (2020).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.margins import grouped, sum_out
from dalenius.algebra.moves import ALONE, Part, exact_cost, moves
from dalenius.algebra.tree import ROOT, Tree
from dalenius.core.cells import Axis, CellSpace, numbered
from dalenius.core.conditions import Filter
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, TableQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.exact.sampling import sample
from dalenius.measurements._components import components_law, differences, gaussian_profile
from dalenius.measurements._example import AMOUNTS, CELLS, MeasurementExample, on_cells
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian


@dataclass(frozen=True, eq=False)
class Residual:
    """Noisy parts; `grid[l, A]` is the variance of the integer noise of component A at level l, in units of 1/N_A.

    `detail` are the axes inside every node, and `levels` the axes of the levels below the root, coarse ones first;
    without them all parts are of the root. `is_size_public` says that no neighbour can have another number of rows in
    the table (traps 7); the planner sets it. With `amounts` the parts are of totals, and a row moves them by what it
    adds.
    """

    name: str
    detail: tuple[Axis, ...]
    where: tuple[Filter, ...]
    grid: Mapping[Part, Fraction]
    is_size_public: bool = False
    amounts: Amounts | None = None
    has_curve: bool = False
    tree: Tree = ROOT
    levels: tuple[Axis, ...] = ()
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Xiao et al. (2023)", "docs/explanation/margins.md"))

    def __post_init__(self) -> None:
        # Noise that cannot be drawn is refused before anything is charged.
        for variance in set(self.grid.values()):
            DiscreteGaussian(variance)
        if self.amounts is not None:
            self.amounts.check(max(map(self._size, self.grid), default=1))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.detail)

    def _size(self, part: Part) -> int:
        return prod(self.shape[i] for i in part[1])

    def _cells(self, part: Part) -> tuple[int, ...]:
        return (self.tree.sizes[part[0]], *(self.shape[i] for i in part[1]))

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
        spaces = [
            CellSpace((*self.levels[level - 1 : level], *(self.detail[i] for i in margin)))
            for level, margin in self._tables
        ]
        if self.amounts is None:
            return tuple(TableQuery(space=space, where=self.where) for space in spaces)
        return tuple(self.amounts.query(space, self.where) for space in spaces)

    @property
    def law(self) -> Joint:
        """Everything needed to draw such blocks again, beside the tree, which the law of the release carries."""
        step = {} if self.amounts is None else {"step": plain(self.amounts.step)}
        axes = [axis.name for axis in self.detail]
        table = {"shape": list(self.shape), "axes": axes, "family": DiscreteGaussian.name} | step
        if not self.levels:
            components: list[dict[str, Any]] = [
                {"axes": list(part[1]), "cells": self._size(part), "noise_variance": plain(v)}
                for part, v in self.grid.items()
            ]
            return Joint("residual", table | {"components": components})
        nodes = {"levels": [axis.name for axis in self.levels], "nodes": list(self.tree.sizes)}
        components = [
            {"level": level, "axes": list(a), "noise_variance": plain(v)} for (level, a), v in self.grid.items()
        ]
        return Joint("tree_residual", nodes | table | {"components": components})

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        axes = sorted({i for _, margin in self.grid for i in margin})
        ways = moves(
            self.tree.depth,
            axes,
            is_replace=neighbours.is_replace,
            is_size_public=self.is_size_public and neighbours.max_rows == 1,
        )

        def price(grid: Mapping[Part, Fraction]) -> Fraction:
            cost = exact_cost(self.shape, grid, ways)
            if self.amounts is not None:
                alone = exact_cost(self.shape, grid, (ALONE,))
                cost = self.amounts.cost(cost, alone, is_replace=neighbours.is_replace)
            return cost * neighbours.max_rows**2

        # Each row lies in one node of a level, and under replace another comes with it.
        touched = neighbours.max_rows * (2 if neighbours.is_replace else 1)
        cells = {part: min(self.tree.sizes[part[0]], touched) * self._size(part) for part in self.grid}
        return gaussian_profile(self.grid, cells, price, neighbours, self.evidence, has_curve=self.has_curve)

    def draw(self, rng: RandomSource) -> list[IntArray]:
        return [sample(DiscreteGaussian(v), prod(self._cells(part)), rng) for part, v in self.grid.items()]

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Noisy parts, reduced to differences from the reference cell; overflow wraps and stays private."""
        scaled = self._scaled([table.open_below_the_gate() for table in exact])
        noisy = (part + noise.reshape(part.shape) for part, noise in zip(scaled, drawn, strict=True))
        return Value(np.concatenate([differences(part, 1).ravel() for part in noisy]))

    def _scaled(self, content: Sequence[IntArray]) -> list[IntArray]:
        """The parts in units of one over their cells in a node."""
        counts = {p: table.reshape(self._cells(p)) for p, table in zip(self._tables, content, strict=True)}
        parts = []
        for part in self.grid:
            level, margin = part
            held = _held(part, self._tables)
            assert held is not None
            summed = self.tree.summed(sum_out(counts[held], (-1, *held[1]), (-1, *margin)), held[0], level)
            parts.append(summed.reshape(self._cells(part)) * np.int64(self._size(part)))
        return parts

    def block(self, outcome: Value) -> Block:
        space = CellSpace((Axis(variable=self.name, labels=numbered(len(outcome.values))),))
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="residual components")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """What the differences see, plus noise. Guard: audits run the step on both neighbours with the same noise."""
        return (components_law(self._scaled(content), self.grid.values(), 1),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        root: Part = (0, ())
        both = (None, AMOUNTS, AMOUNTS.halved(1))
        leaves = Tree.of_groups([[0, 1]])
        steps = []
        for amounts in both:
            by = 1 if amounts is None else 8
            inside = {root: Fraction(by), (0, (0,)): Fraction(2 * by)}
            along = {root: Fraction(max(2, by)), (1, ()): Fraction(by)}
            steps.append(cls("residuals", CELLS.axes, (), inside, amounts=amounts))
            steps.append(cls("parts", (), (), along, amounts=amounts, tree=leaves, levels=CELLS.axes))
        return tuple(map(on_cells, steps))


def _held(part: Part, tables: Sequence[Part]) -> Part | None:
    """The smallest of some tables of which a part is a sum."""
    level, margin = part
    able = [t for t in tables if t[0] >= level and set(margin) <= set(t[1])]
    return min(able, key=lambda t: (t[0], len(t[1]), t[1]), default=None)
