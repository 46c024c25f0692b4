"""All residual components of a list of margins in one step, with exact integer Gaussian noise.

Guarantee
    rho-zCDP with rho = c^2 / 2 * max over patterns of sum_A |w_A|^2 / s2_A, computed in integers. Component A is
    measured as N_A M_A + E, with E discrete Gaussian of variance s2_A in each cell and N_A the number of cells, and
    only differences from a reference cell along each axis are kept. Neighbours' arrays differ by N_A e_j; the part of
    it that the differences can see equals that of the integer vector w_A = tensor(n_i e - 1), of squared length prod
    n_i (n_i - 1), so the released differences are post-processing of an integer shift by w_A of independent discrete
    Gaussians.
Requires
    **The uncentred array is never released.** A unit with c rows multiplies the shift by at most c. Under replace, two
    records that differ in the axes S are 2 (p_A - prod([i not in S] - 1/n_i)) apart; the worst S is taken over all
    patterns.
Noise
    The optimum over all Gaussian mechanisms that do not prefer one category to another, for the chosen objective.
Evidence
    Proved (docs/explanation/margins.md); exhaustive output laws on tiny shapes in tests/measurements/test_residual.py.
References
    Xiao, He, Zhang & Kifer (2023); Canonne, Kamath & Steinke (2020).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.margins import Margin, grouped, holder, sum_out
from dalenius.algebra.optimal import exact_cost, patterns
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

__all__ = ["Residual"]


@dataclass(frozen=True, eq=False)
class Residual(ComponentsStep):
    """Noisy residual components; `grid[A]` is the variance of the integer noise on A, in units of 1/N_A.

    `is_size_public` says that no neighbour can have another number of rows in the table (traps 7); the planner sets it.
    With `amounts` the components are of totals, and a row moves them by what it adds.
    """

    name: str
    axes: tuple[Axis, ...]
    where: tuple[Filter, ...]
    grid: Mapping[Margin, Fraction]
    is_size_public: bool = False
    amounts: Amounts | None = None
    has_curve: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def _tables(self) -> tuple[Margin, ...]:
        return grouped(self.grid, self.shape)

    def _space(self, margin: Margin) -> CellSpace:
        return CellSpace(tuple(self.axes[a] for a in margin))

    @property
    def needs(self) -> tuple[Query, ...]:
        return tuple(table_query(self._space(m), self.where, self.amounts) for m in self._tables)

    @property
    def law(self) -> Joint:
        table = {"shape": list(self.shape), "axes": [axis.name for axis in self.axes], "family": DiscreteGaussian.name}
        components = [
            {"axes": list(a), "cells": prod(self._cells(a)), "noise_variance": plain(v)} for a, v in self.grid.items()
        ]
        return Joint("residual", table | {"components": components} | step_of(self.amounts))

    def _cells(self, margin: Margin) -> tuple[int, ...]:
        return tuple(self.shape[a] for a in margin)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Zero-concentrated, for the worst pattern of change; with `has_curve` also as Gaussian noise."""
        axes = sorted({a for margin in self.grid for a in margin})
        moves = patterns(
            axes, is_replace=neighbours.is_replace, is_size_public=self.is_size_public and neighbours.max_rows == 1
        )
        price: Callable[[Mapping[Margin, Fraction]], Fraction] = priced_by(
            lambda grid: exact_cost(self.shape, grid, moves),
            lambda grid: exact_cost(self.shape, grid, (None,)),
            self.amounts,
            neighbours,
        )
        cells = {a: prod(self._cells(a)) for a in self.grid}
        return gaussian_profile(self.grid, cells, price, neighbours, self.evidence, has_curve=self.has_curve)

    def _scaled(self, content: Sequence[IntArray]) -> list[IntArray]:
        tables = {m: table.reshape(self._cells(m)) for m, table in zip(self._tables, content, strict=True)}
        held = ((a, holder(a, self._tables)) for a in self.grid)
        return [sum_out(tables[table], table, a) * np.int64(prod(self._cells(a))) for a, table in held]

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """The total and the differences of one variable, of counts, of totals and of halved totals."""
        counts = cls("residuals", CELLS.axes, (), {(): Fraction(1), (0,): Fraction(2)})
        wide = {(): Fraction(8), (0,): Fraction(16)}
        totals = (cls("residuals", CELLS.axes, (), wide, amounts=each) for each in (AMOUNTS, AMOUNTS.halved(1)))
        return on_cells(counts), *map(on_cells, totals)
