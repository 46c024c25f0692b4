"""Least noise along a tree for the worst pair of neighbours: the price of a part is a mixture of its shifts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.algebra.moves import Move, Part, move_lengths
from dalenius.algebra.tree_shares import CLOSE, Gains, Selection
from dalenius.algebra.tree_table import TreeLeastSquares, TreeTable
from dalenius.core.law import FloatArray


@dataclass(eq=False)
class WorstWay:
    """Precisions whose worst way costs at most `cost` (= 2 rho), in floats, for one list of gains after the other.

    `public` are parts without noise (a public total): they cost nothing and are not measured. The price of a part is a
    mixture of its lengths over the ways, and the mixture moves to the ways that cost most.
    """

    table: TreeTable
    cost: float
    ways: Sequence[Move]
    public: frozenset[Part] = frozenset()
    close: float = CLOSE

    def __post_init__(self) -> None:
        table = self.table
        self._parts = [(level, a) for a, finest in table.finest.items() for level in range(finest + 1)]
        lengths = [move_lengths(table.shape, p, self.ways) for p in self._parts]
        scale = np.array([float(table.workload.size(a)) ** 2 for _, a in self._parts])
        self._lengths: FloatArray = np.ascontiguousarray(np.array(lengths, dtype=np.float64).T) / scale
        self._lengths[:, [p in self.public for p in self._parts]] = 0.0
        self._mixture: FloatArray = np.full(len(self.ways), 1 / len(self.ways))
        self._selection = Selection(table, self.close, 3000 if self.close <= CLOSE else 60)

    def step(self, gains: Gains) -> dict[Part, float]:
        """Feasible precisions that are good for these gains; the mixture moves on."""
        prices = dict(zip(self._parts, (self._mixture @ self._lengths).tolist(), strict=True))
        chosen = self._selection.choose(gains, prices, self.cost)
        spent = self._lengths @ np.array([chosen.get(p, 0.0) for p in self._parts])
        scale = self.cost / float(spent.max())
        self._mixture = self._mixture * spent / spent.max()
        self._mixture /= self._mixture.sum()
        return {p: t * scale for p, t in chosen.items()}

    def solved(self, precisions: Mapping[Part, float]) -> TreeLeastSquares:
        return TreeLeastSquares(self.table, dict(precisions) | dict.fromkeys(self.public, np.inf))

    def loss(self, gains: Gains, precisions: Mapping[Part, float]) -> float:
        solved = self.solved(precisions).passes
        pairs = ((g, v) for a in solved for g, v in zip(gains[a], solved[a].variance, strict=False))
        return float(sum((g * v).sum() for g, v in pairs))


def rounds(table: TreeTable, most: int) -> int:
    """How many rounds a preview may take on a tree of this size."""
    return max(3, min(most, 600_000 // sum(table.tree.sizes)))


def cheapest(
    table: TreeTable, gains: Gains, cost: float, ways: Sequence[Move], public: frozenset[Part] = frozenset()
) -> dict[Part, float]:
    """Precisions of least weighted sum of variances whose worst way costs at most `cost`: the best of all rounds."""
    is_small = len(ways) == 1 and sum(table.tree.sizes) <= 20_000
    search = WorstWay(table, cost, ways, public, CLOSE if is_small else 1e-6)
    tried = [search.step(gains) for _ in range(1 if len(ways) == 1 else rounds(table, 40))]
    return min(tried, key=lambda precisions: search.loss(gains, precisions))
