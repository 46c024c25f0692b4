"""Shares of one budget among levels and detail margins measured by themselves, best after least squares."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalenius.algebra.margins import subsets
from dalenius.algebra.moves import Part
from dalenius.algebra.shares import NEGLIGIBLE, NoisePrecision
from dalenius.algebra.tree_shares import Gains
from dalenius.algebra.tree_table import TreeLeastSquares, TreeTable
from dalenius.core.law import FloatArray


def copies(table: TreeTable, margin: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """How precise a copy of each component is, if the cells of a detail margin have precision one."""
    return {a: 1 / table.workload.outer(a, margin) for a in subsets(margin) if a in table.finest}


def part_precisions(table: TreeTable, measured: Mapping[Part, float]) -> dict[Part, float]:
    """The precision of every part, given the precision of the cells of levels by detail margins."""
    precisions: dict[Part, float] = {}
    for (level, margin), precision in measured.items():
        for a, copy in copies(table, margin).items():
            precisions[level, a] = precisions.get((level, a), 0.0) + precision * copy
    return precisions


@dataclass(frozen=True, eq=False)
class SplitSearch:
    """Multiplicative descent on the simplex of shares, as `dalenius.algebra.shares` does for margins without a tree."""

    table: TreeTable
    gains: Gains
    candidates: tuple[Part, ...]
    noise: NoisePrecision
    public: frozenset[Part] = frozenset()

    def best(self, iterations: int = 150) -> dict[Part, float]:
        """Shares of least loss from several starts, as Laplace noise has local minima; negligible ones are dropped."""
        count = len(self.candidates)
        most = max(10, min(iterations, 3_000_000 // sum(self.table.tree.sizes)))
        cells = [self.table.size(part) for part in self.candidates]
        rule = np.array(cells, dtype=np.float64) ** self.noise.power
        starts = [np.full(count, 1 / count), rule / rule.sum()]
        alone = np.full(count, 0.02 / count)
        alone[int(np.argmax(cells))] += 0.98
        results = [self._descend(start, most) for start in (*starts, alone)]
        shares = min(results, key=lambda pair: pair[0])[1]
        shares = np.where(shares < NEGLIGIBLE, 0.0, shares)
        shares = shares / shares.sum()
        return {part: float(s) for part, s in zip(self.candidates, shares, strict=True) if s > 0}

    def _descend(self, start: FloatArray, iterations: int) -> tuple[float, FloatArray]:
        shares, best, where, idle = start, np.inf, start, 0
        for _ in range(iterations):
            loss, gradient = self._at(shares)
            idle = idle + 1 if loss > best * (1 - 1e-9) else 0
            if loss < best:
                best, where = loss, shares
            if idle > 10 or not gradient.max() > 0:
                break
            shares = shares * (gradient / gradient.max()) ** self.noise.power
            shares = shares / shares.sum()
        return best, where

    def _at(self, shares: FloatArray) -> tuple[float, FloatArray]:
        """The loss, and how fast it falls with each share."""
        measured = dict(zip(self.candidates, self.noise.precision(shares).tolist(), strict=True))
        parts = part_precisions(self.table, measured) | dict.fromkeys(self.public, np.inf)
        if not all(self._is_reached(a, parts) for a in self.table.finest):
            return np.inf, np.zeros(len(shares))
        loss, slopes = 0.0, dict.fromkeys(parts, 0.0)
        for a, solved in TreeLeastSquares(self.table, parts).passes.items():
            gains = [*self.gains[a], *[np.zeros(1)] * (solved.finest + 1 - len(self.gains[a]))]
            loss += float(sum((g * v).sum() for g, v in zip(self.gains[a], solved.variance, strict=False)))
            own = solved.slopes(gains)
            slopes |= {(level, a): -float(own[level]) for level in range(solved.finest + 1)}
        rates = self.noise.slope(shares)
        gradient = [
            rate * sum(slopes[level, a] * copy for a, copy in copies(self.table, margin).items())
            for (level, margin), rate in zip(self.candidates, rates.tolist(), strict=True)
        ]
        return loss, np.asarray(gradient)

    def _is_reached(self, a: tuple[int, ...], parts: Mapping[Part, float]) -> bool:
        return any(t > 0 for (level, b), t in parts.items() if b == a and level >= self.table.finest[a])
