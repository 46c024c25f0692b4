"""What levels of a tree and detail components cost together, in integers, for the worst pair of neighbours.

Part (l, A) is measured as N_A M + E at every node of level l, centred along the detail axes inside the node. A record
that is added moves one node by the integer vector w of squared length prod n_i (n_i - 1) (`dalenius.algebra.optimal`).
Two records whose nodes differ at level l move two nodes, 2 |w|^2 in all; in the same node they are as far apart as
their detail makes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log10, prod

import numpy as np

from dalenius.algebra.optimal import Pattern, patterns, shift_length, worst_cost
from dalenius.algebra.tree_shares import CLOSE, Gains, Selection
from dalenius.algebra.tree_table import Part, TreeLeastSquares, TreeTable
from dalenius.core.law import FloatArray
from dalenius.core.rationals import round_up

Move = tuple[int, Pattern]
"""The first level at which the nodes of two records differ, and the detail axes in which they differ; (0, None) for one
record.
"""
ALONE: Move = (0, None)


def moves(depth: int, axes: Sequence[int], *, is_replace: bool, is_size_public: bool) -> tuple[Move, ...]:
    """All ways in which two neighbours' records can differ, as far as levels and components can tell."""
    if not is_replace:
        return (ALONE,)
    inside = [s for s in patterns(axes, is_replace=True, is_size_public=True) if s]
    details: list[Pattern] = [frozenset(), *inside]
    pairs: list[Move] = list(product(range(1, depth + 1), details))
    pairs += [(depth + 1, pattern) for pattern in inside]
    # A record that moves into or out of the table is an added or removed one.
    return tuple(pairs if is_size_public else [ALONE, *pairs])


def move_length(shape: Sequence[int], part: Part, move: Move) -> int:
    """Squared length of the integer shift of a part."""
    (level, margin), (first, pattern) = part, move
    if pattern is None:
        return shift_length(shape, margin, None)
    if level >= first:
        return 2 * shift_length(shape, margin, None)
    return shift_length(shape, margin, pattern & frozenset(margin))


def exact_cost(shape: Sequence[int], grid: Mapping[Part, Fraction], ways: Sequence[Move]) -> Fraction:
    """2 rho of parts with the given variances of their integer noise, for the worst way; rounded up."""
    return worst_cost([([move_length(shape, part, m) for m in ways], v) for part, v in grid.items()])


def grid_variances(
    shape: Sequence[int], precisions: Mapping[Part, float], cost: Fraction, ways: Sequence[Move]
) -> dict[Part, Fraction]:
    """Exact variances of the integer noise (in units of 1/N_A) within the cost, rounded up; floats only propose."""
    factor = Fraction(1)
    while True:
        grid: dict[Part, Fraction] = {}
        for part, precision in precisions.items():
            exact = prod(shape[i] for i in part[1]) ** 2 / Fraction(precision) * factor
            grid[part] = round_up(exact, 10 ** max(0, 8 - int(log10(float(exact) + 1))))
        spent = exact_cost(shape, grid, ways)
        if spent <= cost:
            return grid
        factor *= max(spent / cost, Fraction(1)) * Fraction(1_000_000_001, 1_000_000_000)


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
        lengths = [[move_length(table.shape, p, m) for p in self._parts] for m in self.ways]
        scale = np.array([float(table.workload.size(a)) ** 2 for _, a in self._parts])
        self._lengths: FloatArray = np.array(lengths, dtype=np.float64) / scale
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
