"""Least noise along a tree, from the request alone (docs/explanation/margins.md): monotone multiplicative (Yu 2010)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalenius.algebra.margins import Margin
from dalenius.algebra.moves import Part
from dalenius.algebra.tree import Tree, TwoPass
from dalenius.algebra.tree_table import TreeTable
from dalenius.core.law import FloatArray

NEGLIGIBLE = 1e-7
CLOSE = 1e-11
SAFE = 0.5
Gains = dict[Margin, list[FloatArray]]


@dataclass(frozen=True, eq=False)
class LevelShares:
    """The shares of the levels of one component, and the loss that a unit of budget leaves."""

    shares: FloatArray
    loss: float


def node_gains(table: TreeTable, weights: Sequence[float | FloatArray]) -> Gains:
    """How much a component's variance in each node counts, by level; `weights` of each shown table, by node."""
    sizes = table.tree.sizes
    gains: Gains = {a: [np.zeros(sizes[level]) for level in range(f + 1)] for a, f in table.finest.items()}
    for shown, weight in zip(table.shown, weights, strict=True):
        for a, factor in table.factors(shown).items():
            gains[a][shown.level] += np.asarray(weight) * float(factor.sum())
    return gains


def table_weights(table: TreeTable, importance: Sequence[float], *, is_by_table: bool) -> list[float]:
    """The weight of each cell of each table: alike, or so that every table weighs as much as any other."""
    return [w / table.cells(s) if is_by_table else w for s, w in zip(table.shown, importance, strict=True)]


def divide(
    tree: Tree,
    gains: Sequence[FloatArray],
    prices: Sequence[float],
    *,
    start: FloatArray | None = None,
    close: float = CLOSE,
    iterations: int = 3000,
) -> LevelShares:
    """The shares of the levels of least loss; a level of price 0 is known and gets infinite precision.

    The loss is within `close` of the least one, relative to it, or the steps that a preview may take are used up.
    """
    price = np.asarray(prices, dtype=np.float64)
    is_open = price > 0
    most = max(20, min(iterations, 200_000_000 // sum(tree.sizes[: len(price)])))
    shares = _start(tree, gains, price) if start is None else start
    solved = _solved(tree, shares, price)
    loss, power = _loss(gains, solved), SAFE
    while most > 0:
        slopes = np.where(is_open, -solved.slopes(gains) / np.where(is_open, price, 1.0), 0.0)
        # The loss falls as 1 / scale, so sum shares * slopes is the loss; no share gains more than the largest slope.
        if slopes.max() <= loss * (1 + close):
            break
        # With the root of the slopes the loss always falls; larger powers are tried as long as it falls faster.
        while most > 0:
            most -= 1
            moved = shares * (slopes / loss) ** power
            moved = moved / moved.sum()
            solved = _solved(tree, moved, price)
            value = _loss(gains, solved)
            if value < loss or power == SAFE:
                break
            power = max(SAFE, power / 4)
        if value >= loss:
            break
        shares, loss, power = moved, value, min(power * 1.5, 50.0)
    return LevelShares(shares=shares, loss=loss)


def _loss(gains: Sequence[FloatArray], solved: TwoPass) -> float:
    return float(sum((g * v).sum() for g, v in zip(gains, solved.variance, strict=True)))


def _solved(tree: Tree, shares: FloatArray, price: FloatArray) -> TwoPass:
    return TwoPass(tree, np.divide(shares, price, out=np.full(price.shape, np.inf), where=price > 0).tolist())


def _start(tree: Tree, gains: Sequence[FloatArray], price: FloatArray) -> FloatArray:
    """The optimum of a balanced tree with the mean numbers of leaves; every open level gets something."""
    sizes = np.array(tree.sizes[: len(price)], dtype=np.float64)
    leaves = sizes[-1] / sizes
    own = np.array([float(np.mean(g)) for g in gains]) * leaves
    weight = np.sqrt(np.cumsum(own[::-1])[::-1])
    raw = (weight - np.append(weight[1:], 0.0)) / leaves * price
    raw = np.where(price > 0, np.maximum(raw, 0.0), 0.0)
    if raw[-1] <= 0:
        raw[-1] = raw.max() or 1.0
    return np.asarray(raw / raw.sum())


@dataclass(eq=False)
class Selection:
    """Precisions of least loss, asked again and again with other gains and prices: each answer starts from the last."""

    table: TreeTable
    close: float = CLOSE
    iterations: int = 3000
    last: dict[Margin, FloatArray] = field(default_factory=dict)

    def choose(self, gains: Gains, prices: Mapping[Part, float], cost: float) -> dict[Part, float]:
        """Precisions of every level and component of least loss, whose prices add up to `cost`."""
        table = self.table
        parts: dict[Margin, LevelShares] = {}
        made: dict[bytes, LevelShares] = {}
        for a, finest in table.finest.items():
            own = [prices[level, a] for level in range(finest + 1)]
            if not any(own):
                continue
            scale, rate = max(float(g.max()) for g in gains[a]) or 1.0, max(own)
            # Components of equal gains and prices, up to a factor, have equal shares.
            scaled = [g / scale for g in gains[a]]
            key = np.concatenate([*(np.round(g, 12) for g in scaled), np.array(own) / rate]).tobytes()
            if key not in made:
                made[key] = divide(
                    table.tree,
                    scaled,
                    [p / rate for p in own],
                    start=self.last.get(a),
                    close=self.close,
                    iterations=self.iterations,
                )
            parts[a] = LevelShares(shares=made[key].shares, loss=made[key].loss * scale * rate)
            # A share that has vanished comes back only slowly, so that every open level starts with something.
            start = np.maximum(parts[a].shares, 1e-3 * (np.array(own) > 0))
            self.last[a] = start / start.sum()
        roots = {a: np.sqrt(part.loss) for a, part in parts.items()}
        whole = sum(roots.values())
        chosen: dict[Part, float] = {}
        for a, part in parts.items():
            for level, share in enumerate(part.shares):
                price = prices[level, a]
                if price > 0 and (share > NEGLIGIBLE or level == table.finest[a]):
                    chosen[level, a] = float(max(share, NEGLIGIBLE) * cost * roots[a] / whole / price)
        return chosen
