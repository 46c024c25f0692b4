"""Lists of margins along a declared hierarchy: the tree they run along, and what a strategy is given and answers.

Of the axes whose levels are asked for, the one with the longest chain of nested levels becomes the tree; levels that do
not lie in the chain are shown as unions of its finest nodes, and levels of other axes as sums of their categories.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dalenius.algebra.nested import View, aggregate
from dalenius.algebra.tree import Tree
from dalenius.algebra.tree_cost import Move, moves
from dalenius.algebra.tree_law import MOST_ZEROS, STRUCTURE, TreeLaw
from dalenius.algebra.tree_table import Part, TreeLeastSquares, TreeTable, TreeView
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import FloatArray, IntArray, Joint
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.setting import MarginsAsked, UnpricedStep

MOST_UNIONS = 50_000_000
Grouping = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelSetting(MarginsAsked):
    """The request, resolved to one tree and detail axes. `levels` are the axes of the levels below the root."""

    table: TreeTable
    place: int
    leaves: Grouping
    levels: tuple[Axis, ...]
    impossible: tuple[int, ...] = ()
    zeros: tuple[tuple[int, IntArray], ...] = ()

    @property
    def importance(self) -> tuple[float, ...]:
        return self.weights or (1.0,) * len(self.margins)

    def step(self, name: str, part: Part) -> UnpricedStep:
        """A level by a detail margin that is measured by itself."""
        return UnpricedStep(name, self.space(part), self.where, self.amounts)

    @property
    def detail(self) -> tuple[Axis, ...]:
        return self.axes[: self.place] + self.axes[self.place + 1 :]

    @property
    def public(self) -> frozenset[Part]:
        return frozenset({(0, ())} if self.total is not None else ())

    def space(self, part: Part) -> CellSpace:
        """Cells of a level by a detail margin, nodes first."""
        level, margin = part
        return CellSpace((*self.levels[level - 1 : level], *(self.detail[i] for i in margin)))

    def moves(self) -> tuple[Move, ...]:
        """Ways in which one row can change."""
        return moves(
            self.table.tree.depth,
            sorted({i for shown in self.table.shown for i in shown.margin}),
            is_replace=self.neighbours.is_replace,
            is_size_public=self.total is not None,
        )

    def law(self, precisions: Mapping[Part, float]) -> TreeLaw:
        """What follows from the precision of every part."""
        public = dict.fromkeys(self.public, inf)
        solved = TreeLeastSquares(self.table, dict(precisions) | public)
        return TreeLaw(solved, self.place, np.asarray(self.leaves, dtype=np.int64), self.total, self.zeros)


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelCandidate:
    """One strategy along a tree: the precision of every part, and how to measure it."""

    strategy: str
    mechanism: str
    law: TreeLaw
    build: Callable[[], tuple[tuple[Measurement, ...], list[dict[str, Any]]]]

    @cached_property
    def variances(self) -> list[FloatArray]:
        return self.law.variances

    def errors(self, importance: Sequence[float]) -> dict[str, float]:
        """Root mean square over all shown cells and over tables, and the largest, each weighted."""
        means = [float(v.mean()) for v in self.variances]
        cells = [w * len(v) for w, v in zip(importance, self.variances, strict=True)]
        pairs = zip(self.variances, importance, strict=True)
        return {
            "rmse": sqrt(sum(c * m for c, m in zip(cells, means, strict=True)) / sum(cells)),
            "rmse_of_tables": sqrt(sum(w * m for w, m in zip(importance, means, strict=True)) / sum(importance)),
            "largest_std_error": sqrt(max(float(v.max()) / w for v, w in pairs)),
        }

    def score(self, setting: LevelSetting) -> float:
        name = {"maximum": "largest_std_error", "tables": "rmse_of_tables"}.get(setting.objective, "rmse")
        return self.errors(setting.importance)[name]

    def joint(self, setting: LevelSetting) -> Joint:
        """Public: rebuilds estimates and covariances from the blocks."""
        head = {
            "strategy": self.strategy,
            "axes": [axis.name for axis in setting.axes],
            "shape": [len(axis) for axis in setting.axes],
            "levels": [axis.name for axis in setting.levels],
            "blocks": self.build()[1],
        }
        if setting.impossible:
            head["structural_zeros"] = list(setting.impossible)
        return Joint(STRUCTURE, head | self.law.to_parameters())


def is_nested(fine: Grouping, coarse: Grouping) -> bool:
    """Whether every group of the first lies in one group of the second."""
    return len(set(zip(fine, coarse, strict=True))) == len(set(fine))


def chain(groupings: Sequence[Grouping]) -> list[Grouping]:
    """The longest chain of nested groupings, coarse ones first.

    >>> chain([(0, 0, 1, 1), (0, 1, 2, 3), (0, 1, 0, 1)])
    [(0, 0, 1, 1), (0, 1, 2, 3)]
    """
    ordered = sorted(set(groupings), key=lambda g: (max(g), g))
    longest: list[list[Grouping]] = []
    for k, fine in enumerate(ordered):
        before = [longest[i] for i in range(k) if is_nested(fine, ordered[i])]
        longest.append([*max(before, key=len, default=[]), fine])
    return max(longest, key=lambda c: (len(c), max(c[-1])), default=[])


def tree_of(
    axes: Sequence[Axis], resolved: Sequence[tuple[View, tuple[Axis, ...]]]
) -> tuple[int, Grouping, tuple[Axis, ...], TreeTable]:
    """The place of the tree among the axes, the leaf of each category, the axes of the levels, and the
    tables along it.
    """
    if not axes:
        raise Unsupported("A table without axes has no levels; leave 'strategy' and 'margins' out for one number.")
    used = [[view[k] for view, _ in resolved if view[k] is not None] for k in range(len(axes))]
    chains = [chain([g for g in own if g is not None]) for own in used]
    place = max(range(len(axes)), key=lambda k: (len(chains[k]), len(axes[k])))
    spine, own = chains[place], set(used[place])
    identity = tuple(range(len(axes[place])))
    if not spine or not all(g is None or is_nested(spine[-1], g) for g in own):
        spine = [*[g for g in spine if g != identity], identity]
    leaves = spine[-1]
    tree = Tree.of_groups([_onto(leaves, g) for g in spine])
    shown = []
    for view, _ in resolved:
        detail = view[:place] + view[place + 1 :]
        groups = view[place]
        if groups is None:
            shown.append(TreeView(0, detail))
        elif groups in spine:
            shown.append(TreeView(spine.index(groups) + 1, detail))
        else:
            shown.append(TreeView(tree.depth, detail, tuple(_onto(leaves, groups))))
    table = TreeTable(tree, tuple(len(a) for k, a in enumerate(axes) if k != place), tuple(shown))
    for part in table.shown:
        if part.leaves is not None and table.nodes(part) * tree.sizes[-1] > MOST_UNIONS:
            raise TooLarge("Two groupings that are not nested have too many groups; ask for one of them.")
    return place, leaves, tuple(_axis_of(axes[place], g, place, resolved) for g in spine), table


def shown_zeros(shape: Sequence[int], impossible: Sequence[int], views: Sequence[View]) -> list[IntArray]:
    """The cells of every shown table that are made of impossible cells only, flat."""
    possible = np.ones(tuple(shape), dtype=np.float64)
    possible.ravel()[list(impossible)] = 0
    return [np.flatnonzero(aggregate(possible, view).ravel() == 0) for view in views]


def independent_zeros(views: Sequence[View], zeros: Sequence[IntArray]) -> tuple[tuple[int, IntArray], ...]:
    """The impossible cells of tables that are not sums of another: the others follow from them."""
    chosen = []
    for k, (view, cells) in enumerate(zip(views, zeros, strict=True)):
        finer = (v for j, v in enumerate(views) if j != k and _is_sum(view, v))
        if len(cells) and not any(True for _ in finer):
            chosen.append((k, cells))
    if sum(len(cells) for _, cells in chosen) > MOST_ZEROS:
        raise TooLarge(
            f"Least squares knows up to {MOST_ZEROS:,} impossible cells; this list shows more of them.",
            limit=MOST_ZEROS,
        )
    return tuple(chosen)


def _is_sum(coarse: View, fine: View) -> bool:
    """Whether every cell of the first view is a sum of cells of the second, which is another."""
    pairs = list(zip(coarse, fine, strict=True))
    return coarse != fine and all(c is None or (f is not None and is_nested(f, c)) for c, f in pairs)


def _onto(leaves: Grouping, groups: Grouping) -> list[int]:
    """The group of each leaf."""
    nodes = [0] * (max(leaves) + 1)
    for leaf, group in zip(leaves, groups, strict=True):
        nodes[leaf] = group
    return nodes


def _axis_of(own: Axis, groups: Grouping, place: int, resolved: Sequence[tuple[View, tuple[Axis, ...]]]) -> Axis:
    """The axis of a level: as a margin names it, or the axis itself for leaves that no margin shows."""
    for view, axes in resolved:
        if view[place] == groups:
            return axes[sum(v is not None for v in view[:place])]
    return own


@runtime_checkable
class LevelStrategy(Protocol):
    """A strategy for lists along hierarchies and around structural zeros."""

    name: str

    def along(self, setting: LevelSetting, allotment: Allotment, /) -> LevelCandidate:
        """Return what the strategy would measure for this amount."""
