"""Tables along a tree, with detail axes inside every node, component by component: docs/explanation/margins.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dalenius.algebra.margins import Margin, Workload, centre, subsets, sum_out
from dalenius.algebra.moves import Part
from dalenius.algebra.tree import Tree, TwoPass
from dalenius.core.law import FloatArray, IntArray

Groups = tuple[int, ...] | None
"""The group of each category of an axis (-1 for one that is left out); None where the axis is summed out."""
Positions = Sequence[int] | IntArray


@dataclass(frozen=True)
class TreeView:
    """A table that is asked for: a level of the tree, and a group of each category of every detail axis.

    Where `leaves` is given the nodes are unions of nodes of the level instead: the union of each node, or -1.
    """

    level: int
    detail: tuple[Groups, ...] = ()
    leaves: tuple[int, ...] | None = None

    @property
    def margin(self) -> Margin:
        return tuple(i for i, groups in enumerate(self.detail) if groups is not None)

    def to_dict(self) -> dict[str, Any]:
        detail, leaves = [groups and list(groups) for groups in self.detail], self.leaves and list(self.leaves)
        return {"level": self.level, "leaves": leaves, "detail": detail}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "TreeView":
        detail = tuple(None if groups is None else tuple(groups) for groups in content["detail"])
        return cls(int(content["level"]), detail, None if content["leaves"] is None else tuple(content["leaves"]))


def indicator(groups: Groups, size: int) -> FloatArray:
    """One row for each group of an axis: which categories lie in it."""
    if groups is None:
        return np.ones((1, size))
    out = np.zeros((max(groups) + 1, size))
    inside = np.asarray(groups) >= 0
    out[np.asarray(groups)[inside], np.flatnonzero(inside)] = 1
    return out


@dataclass(frozen=True, eq=False)
class TreeTable:
    """The tables asked for along one tree, with `shape` the sizes of the detail axes."""

    tree: Tree
    shape: tuple[int, ...]
    shown: tuple[TreeView, ...]

    @cached_property
    def workload(self) -> Workload:
        """The detail margins, whatever their level."""
        return Workload(self.shape, tuple(dict.fromkeys(s.margin for s in self.shown)))

    @cached_property
    def finest(self) -> dict[Margin, int]:
        """The finest level at which a component is needed."""
        levels = dict.fromkeys(self.workload.components, 0)
        for shown in self.shown:
            for a in subsets(shown.margin):
                if a in levels:
                    levels[a] = max(levels[a], shown.level)
        return levels

    @cached_property
    def inner(self) -> Part:
        """The finest level by all detail that is shown: every table is a sum of it."""
        detail = {i for shown in self.shown for i in shown.margin}
        return max(shown.level for shown in self.shown), tuple(sorted(detail))

    def size(self, part: Part) -> int:
        """Number of cells of a level by a detail margin."""
        return self.tree.sizes[part[0]] * self.workload.size(part[1])

    def nodes(self, shown: TreeView) -> int:
        """Number of nodes, or of unions of nodes, that a table shows."""
        return self.tree.sizes[shown.level] if shown.leaves is None else max(shown.leaves) + 1

    def view(self, shown: TreeView) -> tuple[int, ...]:
        """Number of groups on each detail axis, one where it is summed out."""
        return tuple(1 if groups is None else max(groups) + 1 for groups in shown.detail)

    def cells(self, shown: TreeView) -> int:
        return self.nodes(shown) * prod(self.view(shown))

    def factors(self, shown: TreeView) -> dict[Margin, FloatArray]:
        """What one unit of each component's variance in a node adds to the variance of each detail cell, flat."""
        sizes = [indicator(g, n).sum(axis=1) for g, n in zip(shown.detail, self.shape, strict=True)]
        factors = {}
        for a in subsets(shown.margin):
            if a in self.finest:
                part: FloatArray = np.ones(1)
                for i, (g, n) in enumerate(zip(sizes, self.shape, strict=True)):
                    part = np.outer(part, g - g * g / n if i in a else (g / n) ** 2).ravel()
                factors[a] = part
        return factors


@dataclass(frozen=True, eq=False)
class TreeLeastSquares:
    """Estimates and covariances of the tables of a `TreeTable`, given the precision of every measured part."""

    table: TreeTable
    precisions: Mapping[Part, float]

    @cached_property
    def passes(self) -> dict[Margin, TwoPass]:
        passes = {}
        for a, needed in self.table.finest.items():
            finest = max([needed, *(level for level, b in self.precisions if b == a)])
            own = [self.precisions.get((level, a), 0.0) for level in range(finest + 1)]
            passes[a] = TwoPass(self.table.tree, own)
        return passes

    def variance(self, shown: TreeView) -> FloatArray:
        """Variance of each cell, flat: nodes first."""
        factors = self.table.factors(shown)
        total = np.zeros((self.table.nodes(shown), prod(self.table.view(shown))))
        for a, factor in factors.items():
            total += np.outer(self._spread(a, shown), factor)
        return total.ravel()

    def _spread(self, a: Margin, shown: TreeView) -> FloatArray:
        """Variance of a component in each node, or union of nodes, that is shown."""
        if shown.leaves is None:
            return self.passes[a].variance[shown.level]
        return self.passes[a].squares(shown.level, indicator(shown.leaves, self.table.tree.sizes[shown.level]).T)

    def covariance(self, first: TreeView, cells: Positions, second: TreeView, others: Positions) -> FloatArray:
        """Covariance of each of some cells of a table with each of some cells of another; flat positions."""
        (node, left), (other, right) = self._split(first, cells), self._split(second, others)
        overlaps, sizes = [], []
        for g, h, n in zip(first.detail, second.detail, self.table.shape, strict=True):
            one, two = indicator(g, n), indicator(h, n)
            overlaps.append(one @ two.T)
            sizes.append(np.outer(one.sum(axis=1), two.sum(axis=1)))
        out = np.zeros((len(node), len(other)))
        common = tuple(i for i in first.margin if i in second.margin)
        for a in subsets(common):
            if a not in self.passes:
                continue
            part = self._between(a, first, node, second, other)
            for i, n in enumerate(self.table.shape):
                pick = np.ix_(left[i], right[i])
                part = part * (overlaps[i][pick] - sizes[i][pick] / n if i in a else sizes[i][pick] / n**2)
            out += part
        return out

    def _split(self, shown: TreeView, cells: Positions) -> tuple[IntArray, list[IntArray]]:
        shape = (self.table.nodes(shown), *self.table.view(shown))
        node, *detail = np.unravel_index(np.asarray(cells, dtype=np.int64), shape)
        return node.astype(np.int64), [d.astype(np.int64) for d in detail]

    def _between(self, a: Margin, first: TreeView, node: IntArray, second: TreeView, other: IntArray) -> FloatArray:
        solved = self.passes[a]
        if first.leaves is None and second.leaves is None:
            # Every pair of different nodes once: cells of one node share what is between nodes.
            (rows, row), (columns, column) = (np.unique(x, return_inverse=True) for x in (node, other))
            return solved.covariance(first.level, rows, second.level, columns)[np.ix_(row, column)]
        level = max(first.level, second.level)
        left, right = self._weights(first, node, level), self._weights(second, other, level)
        return solved.moments(level, left, right)

    def _weights(self, shown: TreeView, nodes: IntArray, level: int) -> FloatArray:
        """One column for each node: which nodes of a finer level it is the sum of."""
        tree = self.table.tree
        above = tree.ancestors(np.arange(tree.sizes[level]), level, shown.level)
        group = above if shown.leaves is None else np.asarray(shown.leaves)[above]
        return np.asarray(group[:, None] == nodes[None, :], dtype=np.float64)

    def square(self, shown: TreeView, weights: FloatArray) -> float:
        """Variance of a weighted sum of the cells of a table; weights are flat, nodes first."""
        table, total = self.table, 0.0
        spread = weights.reshape((table.nodes(shown), *table.view(shown)))
        if shown.leaves is not None:
            spread = np.where(
                (np.asarray(shown.leaves) >= 0).reshape((-1,) + (1,) * (spread.ndim - 1)),
                spread[list(shown.leaves)],
                0.0,
            )
        for axis, (groups, n) in enumerate(zip(shown.detail, table.shape, strict=True), start=1):
            if groups is not None and groups != tuple(range(n)):
                spread = np.moveaxis(np.tensordot(indicator(groups, n).T, spread, (1, axis)), 0, axis)
        # An axis along which the weights do not differ takes part by its mean alone: unions often name no detail.
        even = {i for i in range(len(table.shape)) if (spread == spread.take([0], axis=i + 1)).all()}
        for i in even:
            spread = spread.take([0], axis=i + 1)
        for a in subsets(shown.margin):
            if a in self.passes and not even & set(a):
                part = spread
                for i in range(len(table.shape)):
                    mean = part.mean(axis=i + 1, keepdims=True)
                    part = part - mean if i in a else mean
                total += float(self.passes[a].squares(shown.level, part.reshape(len(part), -1)).sum())
        return total

    def components(self, measured: Mapping[Part, FloatArray]) -> dict[Margin, list[FloatArray]]:
        """Best estimates of every component at each level, from centred arrays (nodes first) in units of the counts."""
        return {
            a: solved.estimate([measured.get((level, a)) for level in range(solved.finest + 1)])
            for a, solved in self.passes.items()
        }

    def estimate(self, components: Mapping[Margin, Sequence[FloatArray]], shown: TreeView) -> FloatArray:
        """The cells of a table, flat: nodes first."""
        workload, margin = self.table.workload, shown.margin
        nodes = self.table.tree.sizes[shown.level]
        out = np.zeros((nodes, *(self.table.shape[i] for i in margin)))
        for a in subsets(margin):
            if a in components:
                own = components[a][shown.level]
                lengths = (self.table.shape[i] if i in a else 1 for i in margin)
                out += own.reshape((nodes, *lengths)) / workload.outer(a, margin)
        for axis, i in enumerate(margin, start=1):
            groups = shown.detail[i]
            if groups != tuple(range(self.table.shape[i])):
                out = np.moveaxis(np.tensordot(indicator(groups, self.table.shape[i]), out, (1, axis)), 0, axis)
        if shown.leaves is not None:
            inside = np.asarray(shown.leaves) >= 0
            summed = np.zeros((self.table.nodes(shown), *out.shape[1:]))
            np.add.at(summed, np.asarray(shown.leaves)[inside], out[inside])
            out = summed
        return out.ravel()


def plain_components(array: FloatArray, margin: Margin, a: Margin) -> FloatArray:
    """The component A of counts over nodes and a detail margin: summed to A and centred inside every node."""
    return centre(sum_out(array, (-1, *margin), (-1, *a)), 1)
