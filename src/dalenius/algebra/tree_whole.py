"""Tables along a hierarchy without negative cells, or in whole numbers, that add up at every level: from the top down.

Every detail cell of a node is divided among the node's children by itself; all shown tables are sums of the leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra.tree_law import STRUCTURE, TreeLaw
from dalenius.algebra.tree_table import TreeView, indicator
from dalenius.core.law import FloatArray, IntArray, Joint
from dalenius.core.release import Release
from dalenius.errors import Unsupported

Divide = Callable[[FloatArray, NDArray[np.bool_], IntArray, FloatArray], FloatArray]


def is_along(release: Release) -> bool:
    """Whether a release was measured level by level."""
    return isinstance(release.law, Joint) and release.law.structure == STRUCTURE


@dataclass(frozen=True, eq=False)
class TopDown:
    """A release along a hierarchy whose finest table is shown: every other table is a sum of it."""

    release: Release

    @cached_property
    def law(self) -> TreeLaw:
        assert isinstance(self.release.law, Joint)
        return TreeLaw.of(self.release.law)

    @cached_property
    def position(self) -> int:
        """The place of the finest table among those shown."""
        views = self.law.table.shown
        level = max(view.level for view in views)
        detail = {i for view in views for i in view.margin}
        for k, view in enumerate(views):
            is_fine = all(
                groups == tuple(range(n))
                for groups, n in zip(view.detail, self.law.table.shape, strict=True)
                if groups is not None
            )
            if view.level == level and view.leaves is None and set(view.margin) == detail and is_fine:
                return k
        raise Unsupported("Ask for the finest level by all other variables, of which the other tables are sums.")

    def values(self, divide: Divide) -> list[FloatArray]:
        """All shown tables, flat, with every level divided among its children from the top down."""
        tree, view = self.law.table.tree, self.law.table.shown[self.position]
        cells = self.law.inner(view, self.release.tables[self.position].values)
        free = self.law.inner(view, self.law.variances[self.position]) > 0
        levels, open_cells = [cells], [free]
        for level in range(view.level, 0, -1):
            levels.insert(0, tree.sums(level, levels[0]))
            open_cells.insert(0, tree.sums(level, open_cells[0].astype(np.int64)) > 0)
        width = cells.shape[1]
        nobody = np.zeros(width, dtype=np.int64)
        fixed = divide(levels[0].ravel(), open_cells[0].ravel(), nobody, np.array([max(levels[0].sum(), 0.0)]))
        for level in range(1, view.level + 1):
            groups = (tree.parents[level - 1][:, None] * width + np.arange(width)).ravel()
            fixed = divide(levels[level].ravel(), open_cells[level].ravel(), groups, fixed)
        return [self._summed(other, fixed.reshape(cells.shape)) for other in self.law.table.shown]

    def _summed(self, shown: TreeView, cells: FloatArray) -> FloatArray:
        """A shown table as sums of the cells of the finest one."""
        table, view = self.law.table, self.law.table.shown[self.position]
        out = table.tree.summed(cells.reshape((len(cells), *table.view(view))), view.level, shown.level)
        for axis, (groups, n) in enumerate(zip(shown.detail, table.shape, strict=True), start=1):
            if view.detail[axis - 1] is not None and groups != view.detail[axis - 1]:
                out = np.moveaxis(np.tensordot(indicator(groups, n), out, (1, axis)), 0, axis)
        if shown.leaves is not None:
            out = np.tensordot(indicator(shown.leaves, len(out)), out, (1, 0))
        return self.law.displayed(shown, out.ravel())


def nearest(values: FloatArray, is_free: NDArray[np.bool_], groups: IntArray, sums: FloatArray) -> FloatArray:
    """The nearest numbers that are not negative and have these sums in every group; others than the free ones are 0.

    >>> nearest(np.array([3.0, -1.0, 2.0, 5.0]), np.ones(4, dtype=bool), np.array([0, 0, 0, 1]), np.array([4.0, 6.0]))
    array([2.5, 0. , 1.5, 6. ])
    """
    active = is_free.copy()
    while True:
        count = np.bincount(groups, active, len(sums))
        excess = np.bincount(groups, np.where(active, values, 0.0), len(sums)) - sums
        shift = np.divide(excess, count, out=np.zeros_like(sums), where=count > 0)
        moved = np.where(active, values - shift[groups], 0.0)
        # A cell that is negative leaves; where the sum is 0 all do.
        falls = active & (moved < 0)
        if not falls.any():
            return np.asarray(moved)
        active &= ~falls


def whole(values: FloatArray, is_free: NDArray[np.bool_], groups: IntArray, sums: FloatArray) -> FloatArray:
    """Neighbouring whole numbers by largest remainder with the rounded sums of every group; only free ones move.

    >>> whole(np.array([0.5, 0.75, 1.5, 2.0]), np.ones(4, dtype=bool), np.array([0, 0, 0, 1]), np.array([3.0, 2.0]))
    array([1., 1., 1., 2.])
    """
    low = np.where(is_free, np.floor(values + 1e-9), 0.0)
    missing = np.rint(sums) - np.bincount(groups, low, len(sums))
    width = np.maximum(np.bincount(groups, is_free, len(sums)), 1)
    every, some = missing // width, missing % width
    remainder = np.where(is_free, values - low, -1.0)
    order = np.lexsort((-remainder, groups))
    starts = np.searchsorted(groups[order], np.arange(len(sums)))
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values)) - starts[groups[order]]
    return np.asarray(np.where(is_free, low + every[groups] + (rank < some[groups]), 0.0))
