"""What a strategy for a list of margins is given, and what it answers: expected error in closed form, measurements.

A list runs along one tree: its levels, and margins of all other axes inside their nodes. A list without levels is a
tree that has nothing but its root, so that all axes are detail.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf, sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.joint import MarginsLaw
from dalenius.algebra.margins import Margin, Workload
from dalenius.algebra.moves import Move, Part, moves
from dalenius.algebra.nested import NestedLaw
from dalenius.algebra.tree_law import TreeLaw
from dalenius.algebra.tree_table import TreeLeastSquares, TreeTable
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.conditions import Filter
from dalenius.core.contracts import Definition, Measurement
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.law import FloatArray, IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.errors import DaleniusError, ParameterError, TooLarge, Unsupported
from dalenius.plans.allotments import Allotment, allotments, within_loss

STRATEGIES = "plans.margins.strategies"


@dataclass(frozen=True, kw_only=True)
class MarginsAsked:
    """What was asked, by names."""

    domain: Domain
    axes: tuple[Axis, ...]
    margins: tuple[tuple[str, ...], ...]
    where: tuple[Filter, ...]
    budget: Budget
    definition: Definition
    neighbours: Neighbours
    weights: tuple[float, ...]
    objective: str
    strategy: str | None
    mechanism: str | None
    structural_zeros: frozenset[tuple[int, ...]]
    total: int | None
    amounts: Amounts | None = None

    @property
    def measure(self) -> str:
        return "count" if self.amounts is None else self.amounts.measure

    @property
    def importance(self) -> tuple[float, ...]:
        """The weights, one each if none were given."""
        return self.weights or (1.0,) * len(self.margins)


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting(MarginsAsked):
    """The request, resolved to one tree and detail axes; `spaces` are the cells of every shown table.

    `levels` are the axes of the levels below the root, and `place` is that of the tree among the axes. `workload` are
    the detail margins; of a list without levels they have the weights by which it is judged.
    """

    table: TreeTable
    workload: Workload
    spaces: tuple[CellSpace, ...]
    place: int
    leaves: tuple[int, ...] = ()
    levels: tuple[Axis, ...] = ()
    impossible: tuple[int, ...] = ()
    zeros: tuple[tuple[int, IntArray], ...] = ()

    @property
    def detail(self) -> tuple[Axis, ...]:
        return self.axes[: self.place] + self.axes[self.place + 1 :]

    @property
    def public(self) -> frozenset[Part]:
        """What is known without being measured."""
        return frozenset({(0, ())} if self.total is not None else ())

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is shown, as levels by detail margins, without a total that is public anyway."""
        shown = dict.fromkeys((view.level, view.margin) for view in self.table.shown)
        return tuple(part for part in shown if part not in self.public)

    @property
    def cells(self) -> dict[Part, float]:
        """How much all cells of each margin of a list without levels weigh together."""
        work = self.workload
        weights = {(0, m): w * work.size(m) for m, w in zip(work.margins, work.importance, strict=True)}
        return {part: weights[part] for part in self.parts}

    def space(self, part: Part) -> CellSpace:
        """Cells of a level by a detail margin, nodes first."""
        level, margin = part
        return CellSpace((*self.levels[level - 1 : level], *(self.detail[i] for i in margin)))

    @cached_property
    def ways(self) -> tuple[Move, ...]:
        """Ways in which one row can change."""
        return moves(
            self.table.tree.depth,
            self.table.inner[1],
            is_replace=self.neighbours.is_replace,
            is_size_public=self.total is not None,
        )

    def margins_law(self, components: Mapping[Margin, float]) -> MarginsLaw:
        """What follows from the variance of every component of a list without levels."""
        public = {a: 0.0 for _, a in self.public}
        return MarginsLaw(self.workload, {**components, **public}, self.total)

    def tree_law(self, precisions: Mapping[Part, float]) -> TreeLaw:
        """What follows from the precision of every part."""
        solved = TreeLeastSquares(self.table, dict(precisions) | dict.fromkeys(self.public, inf))
        return TreeLaw(solved, self.place, np.asarray(self.leaves, dtype=np.int64), self.total, self.zeros)


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """One strategy: the law of what it would show, and how to measure it.

    `before` is the error without least squares, where every shown table is measured.
    """

    setting: Setting
    strategy: str
    mechanism: str
    law: MarginsLaw | TreeLaw | NestedLaw
    build: Callable[[], tuple[tuple[Measurement, ...], list[dict[str, Any]]]]
    before: float | None = None

    @cached_property
    def _variances(self) -> list[FloatArray]:
        return self.law.variances

    @property
    def std_errors(self) -> list[float]:
        """Root mean square of each shown table."""
        if isinstance(self.law, MarginsLaw):
            work, components = self.law.workload, self.law.components
            return [work.variance(components, m) ** 0.5 for m in work.margins]
        return [sqrt(float(v.mean())) for v in self._variances]

    @cached_property
    def errors(self) -> dict[str, float]:
        """Root mean square over all shown cells, along levels also over tables, and the largest, each weighted."""
        if isinstance(self.law, MarginsLaw):
            work, components = self.law.workload, self.law.components
            return {"rmse": work.rmse(components), "largest_std_error": work.worst(components)}
        importance, means = self.setting.importance, [float(v.mean()) for v in self._variances]
        cells = [w * len(v) for w, v in zip(importance, self._variances, strict=True)]
        pairs = zip(self._variances, importance, strict=True)
        return {
            "rmse": sqrt(sum(c * m for c, m in zip(cells, means, strict=True)) / sum(cells)),
            "rmse_of_tables": sqrt(sum(w * m for w, m in zip(importance, means, strict=True)) / sum(importance)),
            "largest_std_error": sqrt(max(float(v.max()) / w for v, w in pairs)),
        }

    @property
    def score(self) -> float:
        """What the objective makes small."""
        name = {"maximum": "largest_std_error", "tables": "rmse_of_tables"}.get(self.setting.objective, "rmse")
        # A list without levels has weights by which all cells together are all tables together.
        return self.errors[name] if name in self.errors else self.errors["rmse"]

    def to_law(self) -> Joint:
        """Public: rebuilds estimates and covariances from the blocks."""
        setting = self.setting
        head: dict[str, Any] = {
            "strategy": self.strategy,
            "axes": [axis.name for axis in setting.axes],
            "shape": [len(axis) for axis in setting.axes],
            "blocks": self.build()[1],
        }
        if setting.levels:
            head["levels"] = [axis.name for axis in setting.levels]
        if setting.impossible:
            head["structural_zeros"] = list(setting.impossible)
        return Joint(self.law.structure, head | self.law.to_parameters())


def candidates(setting: Setting) -> tuple[list[Candidate], DaleniusError | None]:
    """Return the candidates of all strategies that serve the request, the plainest first, and the last refusal of one
    that does not.
    """
    offers = registry.own(STRATEGIES) if setting.strategy is None else registry.every(STRATEGIES)
    strategies = sorted(offers.values(), key=lambda strategy: strategy.plainness)
    served, refusal = [], None
    for allotment in allotments(setting.definition, setting.budget):
        for strategy in strategies:
            offered = offer(strategy, has_levels=bool(setting.levels))
            if offered is None or setting.strategy not in (None, strategy.name):
                continue
            if allotment.is_by_loss and not has_curve(strategy):
                continue
            propose = partial(offered, setting)
            try:
                if allotment.is_by_loss:
                    served.append(
                        within_loss(allotment, propose, lambda c: c.build()[0], setting.neighbours, setting.budget)
                    )
                else:
                    served.append(propose(allotment))
            except (Unsupported, ParameterError, TooLarge) as error:
                # Noise that cannot be drawn rules out one strategy, not the others.
                refusal = error
    return served, refusal


@runtime_checkable
class ListStrategy(Protocol):
    """A strategy for lists of plain margins."""

    name: str

    def option(self, setting: Setting, allotment: Allotment, /) -> Candidate:
        """Return what the strategy would measure for this amount."""


@runtime_checkable
class LevelStrategy(Protocol):
    """A strategy for lists along hierarchies and around structural zeros."""

    name: str

    def along(self, setting: Setting, allotment: Allotment, /) -> Candidate:
        """Return what the strategy would measure for this amount."""


def offer(strategy: object, *, has_levels: bool) -> Callable[[Setting, Allotment], Candidate] | None:
    """What a strategy proposes for lists along levels, or for those without; None if it serves none of them."""
    if has_levels:
        return strategy.along if isinstance(strategy, LevelStrategy) else None
    return strategy.option if isinstance(strategy, ListStrategy) else None


@runtime_checkable
class Curved(Protocol):
    """A strategy that says whether its single step states delta as a function of epsilon."""

    has_curve: bool


def has_curve(strategy: object) -> bool:
    """Return whether a strategy can be priced by its loss; one that does not say so cannot."""
    return isinstance(strategy, Curved) and strategy.has_curve
