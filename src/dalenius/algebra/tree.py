"""Trees of any depth and shape, and least squares up and down them: docs/explanation/margins.md.

Level 0 is the root; every node of level l + 1 lies in one node of level l, and its number is the sum of its children's.
Of the symbols of that page `precisions` are t_l (0 where nothing was measured), `up` v, `below` S and `gain` K.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra.margins import Number
from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Tree:
    """`parents[l][u]` is the node of level l in which the node u of level l + 1 lies; every node has a child."""

    parents: tuple[IntArray, ...]

    def __post_init__(self) -> None:
        for above, below in zip(self.sizes, self.parents, strict=False):
            if len(np.unique(below)) != above or below.min() < 0 or below.max() >= above:
                raise ParameterError("Every node of a tree but the leaves needs a child.")

    @classmethod
    def of_groups(cls, groups: Sequence[Sequence[int]]) -> "Tree":
        """From the group of each leaf at each level below the root, coarse ones first."""
        maps = [np.asarray(g, dtype=np.int64) for g in groups]
        parents = []
        above = np.zeros(len(maps[0]) if maps else 0, dtype=np.int64)
        for below in maps:
            parent = np.full(int(below.max()) + 1, -1, dtype=np.int64)
            parent[below] = above
            if not np.array_equal(parent[below], above):
                raise ParameterError("A group of a finer level lies in two groups of a coarser one.")
            parents.append(parent)
            above = below
        return cls(tuple(parents))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return (1, *(len(parent) for parent in self.parents))

    @property
    def depth(self) -> int:
        return len(self.parents)

    @cached_property
    def _orders(self) -> list[tuple[IntArray | None, IntArray]]:
        orders: list[tuple[IntArray | None, IntArray]] = []
        for parent, size in zip(self.parents, self.sizes, strict=False):
            is_sorted = bool((np.diff(parent) >= 0).all())
            order = None if is_sorted else np.argsort(parent, kind="stable")
            starts = np.searchsorted(parent if order is None else parent[order], np.arange(size))
            orders.append((order, starts))
        return orders

    def sums(self, level: int, values: NDArray[Number]) -> NDArray[Number]:
        """Values of the nodes of a level (first axis), summed to the level above."""
        order, starts = self._orders[level - 1]
        return np.asarray(np.add.reduceat(values if order is None else values[order], starts, axis=0))

    def summed(self, values: NDArray[Number], level: int, onto: int) -> NDArray[Number]:
        """Values of the nodes of a level, summed to a level above or the same."""
        for step in range(level, onto, -1):
            values = self.sums(step, values)
        return values

    def ancestors(self, nodes: IntArray, level: int, onto: int) -> IntArray:
        """The nodes of a level above in which some nodes of a level lie."""
        for step in range(level, onto, -1):
            nodes = self.parents[step - 1][nodes]
        return nodes


ROOT = Tree(())
"""A tree that has nothing but its root."""


class TwoPass:
    """Best linear unbiased estimates of the nodes of levels 0 to m from measured levels, with exact covariances.

    `precisions` are 1 / variance of every node of levels 0 to m; infinite for a number that is known. Level m is
    measured.
    """

    def __init__(self, tree: Tree, precisions: Sequence[float]) -> None:
        if len(precisions) == 0 or not precisions[-1] > 0 or len(precisions) > tree.depth + 1:
            raise ParameterError("The finest level of a tree must be measured.")
        self.tree, self.precisions = tree, tuple(float(t) for t in precisions)
        finest = len(precisions) - 1
        self.up: list[FloatArray] = [np.empty(0)] * (finest + 1)
        self.below: list[FloatArray] = [np.empty(0)] * finest
        self.up[finest] = np.full(tree.sizes[finest], 1 / self.precisions[finest])
        for level in range(finest - 1, -1, -1):
            self.below[level] = tree.sums(level + 1, self.up[level + 1])
            self.up[level] = np.zeros(tree.sizes[level])
            if self.precisions[level] < np.inf:
                self.up[level] = self.below[level] / (1 + self.precisions[level] * self.below[level])
        self.gain: list[FloatArray] = [np.ones(1)]
        self.variance: list[FloatArray] = [self.up[0]]
        for level in range(1, finest + 1):
            parent = tree.parents[level - 1]
            gain = _over(self.up[level], self.below[level - 1][parent])
            self.gain.append(gain)
            self.variance.append(self.up[level] * (1 - gain) + gain**2 * self.variance[-1][parent])

    @property
    def finest(self) -> int:
        return len(self.precisions) - 1

    def estimate(self, measured: Sequence[FloatArray | None]) -> list[FloatArray]:
        """Estimates of every level from measured arrays, nodes first; None where nothing was measured."""
        tree, own = self.tree, measured[self.finest]
        assert own is not None
        best: list[FloatArray] = [np.empty(0)] * self.finest + [np.asarray(own, dtype=np.float64)]
        sums: list[FloatArray] = [np.empty(0)] * self.finest
        for level in range(self.finest - 1, -1, -1):
            best[level] = sums[level] = tree.sums(level + 1, best[level + 1])
            here = measured[level]
            if self.precisions[level] > 0 and here is not None:
                is_known = self.precisions[level] == np.inf
                weight = np.ones(1) if is_known else self.precisions[level] * self.up[level]
                best[level] = best[level] + _along(weight, here) * (here - best[level])
        for level in range(1, self.finest + 1):
            missing = (best[level - 1] - sums[level - 1])[tree.parents[level - 1]]
            best[level] = best[level] + _along(self.gain[level], missing) * missing
        return best

    def covariance(self, level: int, nodes: IntArray, other: int, others: IntArray) -> FloatArray:
        left, a = self._lifted(level, nodes, min(level, other))
        right, b = self._lifted(other, others, min(level, other))
        out = np.zeros((len(a), len(b)))
        is_open = np.ones(out.shape, dtype=bool)
        for at in range(min(level, other), -1, -1):
            same = is_open & (a[:, None] == b[None, :])
            if at == min(level, other):
                met = np.outer(left, right) * self.variance[at][a][:, None]
            else:
                # Different children of the same node: -v v / S + v v / S^2 Var(x_u), and the gains hold v / S.
                between = self.variance[at][a] - self.below[at][a]
                met = np.outer(left, right) * between[:, None]
            out[same] = met[same]
            is_open &= ~same
            if at and is_open.any():
                (left, a), (right, b) = self._up(at, left, a), self._up(at, right, b)
            else:
                break
        return out

    def _up(self, level: int, weight: FloatArray, nodes: IntArray) -> tuple[FloatArray, IntArray]:
        return weight * self.gain[level][nodes], self.tree.parents[level - 1][nodes]

    def _lifted(self, level: int, nodes: IntArray, onto: int) -> tuple[FloatArray, IntArray]:
        """How much of the nodes follows their ancestors of a level above, and these ancestors."""
        weight, at = np.ones(len(nodes)), np.asarray(nodes, dtype=np.int64)
        for step in range(level, onto, -1):
            weight, at = self._up(step, weight, at)
        return weight, at

    def moments(self, level: int, left: FloatArray, right: FloatArray) -> FloatArray:
        """Covariances of weighted sums of the nodes of a level: weights are (nodes, sums), the answer (sums, sums)."""
        out = np.zeros((left.shape[1], right.shape[1]))
        for at in range(level, 0, -1):
            v = self.up[at][:, None]
            out += left.T @ (v * right)
            left, right = self.tree.sums(at, v * left), self.tree.sums(at, v * right)
            scale = self.below[at - 1][:, None]
            left, right = _over(left, scale), _over(right, scale)
            out -= left.T @ (scale * right)
        return out + left.T @ (self.variance[0][:, None] * right)

    def squares(self, level: int, weights: FloatArray) -> FloatArray:
        """Variances of weighted sums of the nodes of a level; weights are (nodes, sums)."""
        out = np.zeros(weights.shape[1])
        for at in range(level, 0, -1):
            v = self.up[at][:, None]
            out += (v * weights**2).sum(axis=0)
            above = self.tree.sums(at, v * weights)
            weights = _over(above, self.below[at - 1][:, None])
            out -= (weights * above).sum(axis=0)
        return np.asarray(out + weights[0] ** 2 * self.variance[0][0])

    def slopes(self, gains: Sequence[FloatArray | float]) -> FloatArray:
        """Derivative of sum_l gains_l * variance_l by the precision of each level; `gains` by node or by level."""
        # Plans follow the last digit of this sum: it is changed only where the square of a variance overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = self._plain_slopes(gains)
        return slopes if np.isfinite(slopes).all() else self._scaled_slopes(gains)

    def _plain_slopes(self, gains: Sequence[FloatArray | float]) -> FloatArray:
        tree, finest = self.tree, self.finest
        by_up: list[FloatArray] = [np.zeros(n) for n in tree.sizes[: finest + 1]]
        by_below: list[FloatArray] = [np.zeros(n) for n in tree.sizes[:finest]]
        by_variance = [np.broadcast_to(g, (n,)).astype(np.float64) for g, n in zip(gains, tree.sizes, strict=False)]
        for level in range(finest, 0, -1):
            parent, gain, here = tree.parents[level - 1], self.gain[level], by_variance[level]
            above = _over(self.variance[level - 1], self.below[level - 1])[parent]
            by_up[level] += here * (1 - 2 * gain + 2 * gain * above)
            by_below[level - 1] += tree.sums(level, here * gain**2 * (1 - 2 * above))
            by_variance[level - 1] += tree.sums(level, here * gain**2)
        by_up[0] += by_variance[0]
        slopes = np.zeros(finest + 1)
        for level in range(finest + 1):
            slopes[level] = -float((by_up[level] * self.up[level] ** 2).sum())
            if level < finest:
                by_below[level] += by_up[level] * _over(self.up[level], self.below[level]) ** 2
                by_up[level + 1] += by_below[level][tree.parents[level]]
        return slopes

    def _scaled_slopes(self, gains: Sequence[FloatArray | float]) -> FloatArray:
        """The same, with derivatives by v_u carried times v_u^2, and those by S_u times S_u^2.

        A level that is hardly measured has an enormous variance, while what the loss gains from measuring it more is an
        ordinary number.
        """
        tree, finest = self.tree, self.finest
        by_up: list[FloatArray] = [np.zeros(n) for n in tree.sizes[: finest + 1]]
        by_below: list[FloatArray] = [np.zeros(n) for n in tree.sizes[:finest]]
        by_variance = [np.broadcast_to(g, (n,)).astype(np.float64) for g, n in zip(gains, tree.sizes, strict=False)]
        for level in range(finest, 0, -1):
            parent, gain, here = tree.parents[level - 1], self.gain[level], by_variance[level]
            above = _over(self.variance[level - 1], self.below[level - 1])[parent]
            scaled = here * self.up[level] * self.up[level]
            by_up[level] = scaled * (1 - 2 * gain + 2 * gain * above)
            by_below[level - 1] = tree.sums(level, scaled * (1 - 2 * above))
            by_variance[level - 1] += tree.sums(level, here * gain**2)
        by_up[0] = by_variance[0] * self.up[0] * self.up[0]
        for level in range(finest):
            by_below[level] += by_up[level]
            by_up[level + 1] += by_below[level][tree.parents[level]] * self.gain[level + 1] ** 2
        return np.array([-float(derivatives.sum()) for derivatives in by_up])


def _over(above: FloatArray, below: FloatArray) -> FloatArray:
    """Quotients; nothing where what lies below is known, so that nothing of it follows its node."""
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def _along(weight: FloatArray, array: FloatArray) -> FloatArray:
    """Weights of the nodes, broadcast over further axes."""
    return weight.reshape(weight.shape + (1,) * (array.ndim - 1))
