"""The law of a release along a tree, read from its document: estimates, variances and covariances of what is shown.

A table of the release keeps the order of the axes of the full cross; here the nodes of the tree stand first, so that
positions are translated in one place.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from math import inf, prod
from typing import Any, ClassVar

import numpy as np

from dalenius.algebra.margins import Margin, centre, subsets, sum_out
from dalenius.algebra.moves import Part
from dalenius.algebra.tree import Tree
from dalenius.algebra.tree_table import TreeLeastSquares, TreeTable, TreeView, plain_components
from dalenius.core.law import Additive, FloatArray, IntArray, Joint, Law
from dalenius.errors import TooLarge

STRUCTURE = "tree"
MOST_ZEROS = 1500
"""Impossible cells that least squares takes into account; their covariance is a matrix."""
_NOTHING = 1e-9
_CHUNK = 5_000_000
_MOST_UNIONS = 50_000_000
_MOST_SUMS = 2_000


@dataclass(frozen=True, eq=False)
class TreeLaw:
    """What a release along a tree carries. `axis` is the place of the tree among the axes of the cross.

    `zeros` are shown cells that are impossible by declaration, by table; they condition all others
    (docs/explanation/margins.md).
    """

    solved: TreeLeastSquares
    axis: int
    leaves: IntArray
    total: int | None = None
    zeros: tuple[tuple[int, IntArray], ...] = ()
    structure: ClassVar[str] = STRUCTURE

    @classmethod
    def of(cls, law: Joint) -> "TreeLaw":
        return _read(LawKey(law))

    @property
    def table(self) -> TreeTable:
        return self.solved.table

    def to_parameters(self) -> dict[str, Any]:
        parents, leaves = [parent.tolist() for parent in self.table.tree.parents], self.leaves.tolist()
        parts = [[level, list(a), t] for (level, a), t in self.solved.precisions.items() if t < inf]
        zeros = {"zeros": [[k, cells.tolist()] for k, cells in self.zeros]} if self.zeros else {}
        tree = {"axis": self.axis, "parents": parents, "leaves": leaves}
        shown = [view.to_dict() for view in self.table.shown]
        return {"tree": tree, "shown": shown, "parts": parts, "total": self.total} | zeros

    @cached_property
    def variances(self) -> list[FloatArray]:
        shown = [self.displayed(s, self.solved.variance(s)) for s in self.table.shown]
        for k, variance in enumerate(shown) if self.zeros else ():
            for cells, against in self._chunks(k):
                variance[cells] -= ((against @ self._inverse) * against).sum(axis=1)
            shown[k] = np.where(variance < _NOTHING * variance.max(initial=0.0), 0.0, variance)
        return shown

    @cached_property
    def _inverse(self) -> FloatArray:
        """K^+: impossible cells may depend on each other."""
        rows = [self._against(k, cells.tolist()) for k, cells in self.zeros]
        spectrum, basis = np.linalg.eigh(np.concatenate(rows))
        is_free = spectrum > _NOTHING * spectrum.max(initial=0.0)
        return np.asarray((basis[:, is_free] / spectrum[is_free]) @ basis[:, is_free].T)

    def _against(self, position: int, cells: Sequence[int]) -> FloatArray:
        """Covariance of some shown cells with all impossible ones, before these are known to be 0."""
        return np.concatenate([self._covariance(position, cells, k, zeros.tolist()) for k, zeros in self.zeros], axis=1)

    def _chunks(self, position: int) -> Iterator[tuple[slice, FloatArray]]:
        size, wide = self.table.cells(self.table.shown[position]), sum(len(cells) for _, cells in self.zeros)
        step = max(1, _CHUNK // max(wide, 1))
        for start in range(0, size, step):
            stop = min(size, start + step)
            yield slice(start, stop), self._against(position, range(start, stop))

    def estimates(
        self, arrays: Sequence[IntArray], laws: Sequence[Law], blocks: Sequence[Mapping[str, Any]]
    ) -> list[FloatArray]:
        parts = self.solved.components(self._measured(arrays, laws, blocks))
        shown = [self.displayed(s, self.solved.estimate(parts, s)) for s in self.table.shown]
        if not self.zeros:
            return shown
        moved = self._inverse @ np.concatenate([shown[k][cells] for k, cells in self.zeros])
        for k, values in enumerate(shown):
            for cells, against in self._chunks(k):
                values[cells] -= against @ moved
            # What is known to be 0 is 0 exactly, also where it follows from other tables.
            values[self.variances[k] == 0] = 0.0
        return shown

    def _measured(
        self, arrays: Sequence[IntArray], laws: Sequence[Law], blocks: Sequence[Mapping[str, Any]]
    ) -> dict[Part, FloatArray]:
        """Every component at every level: the mean of its copies, weighted by their precisions."""
        sums: dict[Part, FloatArray] = {}
        weights: dict[Part, float] = {}
        for array, own, spec in zip(arrays, laws, blocks, strict=True):
            if isinstance(own, Joint):
                return self._with_total(residual_parts(array, own.parameters))
            margin: Margin = tuple(spec["axes"])
            shape = (self.table.tree.sizes[spec["level"]], *(self.table.shape[i] for i in margin))
            counts = in_units(array, own).reshape(shape)
            for a in subsets(margin):
                if a in self.table.finest:
                    part = (int(spec["level"]), a)
                    weight = 1 / (float(spec["variance"]) * self.table.workload.outer(a, margin))
                    copy = plain_components(counts, margin, a)
                    sums[part] = sums.get(part, 0.0) + weight * copy
                    weights[part] = weights.get(part, 0.0) + weight
        return self._with_total({part: array / weights[part] for part, array in sums.items()})

    def _with_total(self, parts: dict[Part, FloatArray]) -> dict[Part, FloatArray]:
        return parts if self.total is None else parts | {(0, ()): np.array([float(self.total)])}

    def covariance(self, first: int, cells: Sequence[int], second: int, others: Sequence[int]) -> FloatArray:
        between = self._covariance(first, cells, second, others)
        if not self.zeros:
            return between
        return np.asarray(between - self._against(first, cells) @ self._inverse @ self._against(second, others).T)

    def square(self, position: int, weights: FloatArray) -> float:
        """Variance of a weighted sum of the shown cells of a table: any union of nodes, any difference of unions."""
        shown = self.table.shown[position]
        total = self.solved.square(shown, self.inner(shown, weights).ravel())
        if not self.zeros:
            return max(total, 0.0)
        against = sum(weights[cells] @ part for cells, part in self._chunks(position))
        left = total - float(against @ self._inverse @ against)
        return left if left > _NOTHING * total else 0.0

    def grouped_variance(self, position: int, groups: Sequence[Sequence[int]]) -> FloatArray:
        if self.zeros:
            # Impossible cells condition all others.
            if prod(max(own) + 1 for own in groups) > _MOST_SUMS:
                raise TooLarge("These are too many sums where impossible cells are shown; ask for fewer.")
            return grouped_squares(partial(self.square, position), groups)
        shown = self.table.shown[position]
        view = self._regrouped(shown, groups)
        nodes = np.asarray(view.leaves)
        inside = np.flatnonzero(nodes >= 0)
        if shown.leaves is None and len(np.unique(nodes[inside])) == len(inside):
            # Single nodes: no union is needed.
            every = self.solved.variance(TreeView(view.level, view.detail)).reshape(len(nodes), -1)
            return self.displayed(view, every[inside[np.argsort(nodes[inside])]].ravel())
        if len(nodes) * (int(nodes.max()) + 1) > _MOST_UNIONS:
            raise TooLarge("These are too many unions of places for one table; ask for fewer.")
        return self.displayed(view, self.solved.variance(view))

    def _regrouped(self, shown: TreeView, groups: Sequence[Sequence[int]]) -> TreeView:
        """The view whose unions of nodes and groups of categories are groups of what is shown."""
        has_nodes = shown.level > 0 or shown.leaves is not None
        places = [*range(self.axis), *([-1] if has_nodes else []), *range(self.axis, len(shown.detail))]
        axes = [place for place in places if place == -1 or shown.detail[place] is not None]
        own = dict(zip(axes, groups, strict=True))
        detail = tuple(
            None if labels is None else tuple(own[i][g] if g >= 0 else -1 for g in labels)
            for i, labels in enumerate(shown.detail)
        )
        nodes = tuple(own.get(-1, (0,)))
        if shown.leaves is not None:
            nodes = tuple(nodes[g] if g >= 0 else -1 for g in shown.leaves)
        return TreeView(shown.level, detail, nodes)

    def _covariance(self, first: int, cells: Sequence[int], second: int, others: Sequence[int]) -> FloatArray:
        one, two = self.table.shown[first], self.table.shown[second]
        return self.solved.covariance(one, self._inner(one, cells), two, self._inner(two, others))

    def _order(self, shown: TreeView) -> tuple[int, ...]:
        """The axes of the inner array (nodes first, summed axes of length one) in the order in which they are shown."""
        return (*range(1, self.axis + 1), 0, *range(self.axis + 1, len(shown.detail) + 1))

    def _shape(self, shown: TreeView) -> tuple[int, ...]:
        return (self.table.nodes(shown), *self.table.view(shown))

    def displayed(self, shown: TreeView, flat: FloatArray) -> FloatArray:
        """Cells with the nodes first, in the order of the shown axes."""
        return np.asarray(flat.reshape(self._shape(shown)).transpose(self._order(shown)).ravel())

    def inner(self, shown: TreeView, flat: FloatArray) -> FloatArray:
        """Cells in the order of the shown axes as (nodes, detail cells)."""
        shape, order = self._shape(shown), self._order(shown)
        moved = flat.reshape([shape[k] for k in order]).transpose(np.argsort(order))
        return np.ascontiguousarray(moved).reshape(shape[0], -1)

    def _inner(self, shown: TreeView, cells: Sequence[int]) -> IntArray:
        order, shape = self._order(shown), self._shape(shown)
        at = np.unravel_index(np.asarray(cells, dtype=np.int64), tuple(shape[k] for k in order))
        return np.asarray(np.ravel_multi_index(tuple(at[order.index(k)] for k in range(len(shape))), shape))

    def counts(self, interior: IntArray, spec: Mapping[str, Any]) -> IntArray:
        moved = np.moveaxis(interior, self.axis, 0)
        nodes = np.zeros((self.table.tree.sizes[-1], *moved.shape[1:]), dtype=np.int64)
        np.add.at(nodes, self.leaves, moved)
        axes = (-1, *range(len(self.table.shape)))
        summed = sum_out(nodes, axes, (-1, *spec["axes"]))
        return self.table.tree.summed(summed, self.table.tree.depth, int(spec["level"]))


def grouped_squares(square: Callable[[FloatArray], float], groups: Sequence[Sequence[int]]) -> FloatArray:
    """Variances of sums, one after the other, by the group of each label of every axis (-1: left out)."""
    squares = []
    for cell in np.ndindex(*(max(own) + 1 for own in groups)):
        weights: FloatArray = np.ones(1)
        for at, own in zip(cell, groups, strict=True):
            weights = np.outer(weights, np.asarray(own) == at).ravel()
        squares.append(square(weights))
    return np.array(squares)


class LawKey:
    """A law by identity of its content, for a small cache."""

    def __init__(self, law: Joint) -> None:
        self.law = law

    def __hash__(self) -> int:
        return id(self.law.parameters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LawKey) and other.law.parameters is self.law.parameters


@lru_cache(maxsize=8)
def _read(key: LawKey) -> TreeLaw:
    content = key.law.parameters
    axis, shape = int(content["tree"]["axis"]), list(content["shape"])
    tree = Tree(tuple(np.asarray(p, dtype=np.int64) for p in content["tree"]["parents"]))
    shown = tuple(map(TreeView.from_dict, content["shown"]))
    precisions = {(int(level), tuple(a)): float(t) for level, a, t in content["parts"]}
    if content["total"] is not None:
        precisions[0, ()] = inf
    table = TreeTable(tree, tuple(shape[:axis] + shape[axis + 1 :]), shown)
    leaves = np.asarray(content["tree"]["leaves"], dtype=np.int64)
    zeros = tuple((int(k), np.asarray(cells, dtype=np.int64)) for k, cells in content.get("zeros", ()))
    return TreeLaw(TreeLeastSquares(table, precisions), axis, leaves, content["total"], zeros)


def in_units(array: IntArray, law: Law) -> FloatArray:
    """A measured array in units of what is shown: counts as they are, totals by their steps."""
    values = array.astype(np.float64)
    return values if not isinstance(law, Additive) or law.step == 1 else values * float(law.step)


def residual_parts(values: IntArray, parameters: Mapping[str, Any]) -> dict[Part, FloatArray]:
    """Centred parts in units of what is shown, from a block of residual components and its law's parameters."""
    shape, nodes, start = parameters["shape"], parameters.get("nodes", (1,)), 0
    step = float(Fraction(parameters.get("step", 1)))
    parts: dict[Part, FloatArray] = {}
    for part in parameters["components"]:
        level, a = int(part.get("level", 0)), tuple(part["axes"])
        sizes = (int(nodes[level]), *(int(shape[i]) for i in a))
        array = values[start : start + prod(sizes)].reshape(sizes)
        parts[level, a] = centre(array.astype(np.float64), 1) * step / prod(sizes[1:])
        start += prod(sizes)
    return parts
