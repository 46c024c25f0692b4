"""Every level of a hierarchy, with residual components of the other variables inside its nodes, with the best Gaussian
noise.
"""

from fractions import Fraction
from typing import ClassVar

import numpy as np

from dalenius.algebra.moves import Part
from dalenius.algebra.tree_cost import WorstWay, cheapest, rounds
from dalenius.algebra.tree_shares import node_gains, table_weights
from dalenius.algebra.tree_table import TreeLeastSquares
from dalenius.core.law import FloatArray
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.components import by_components
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["TreeStrategy"]


class TreeStrategy:
    """Every level of a hierarchy, with residual components of the other variables inside its nodes."""

    name: ClassVar[str] = "tree"
    has_curve: ClassVar[bool] = True
    plainness: ClassVar[int] = 7

    @staticmethod
    def along(setting: Setting, allotment: Allotment) -> Candidate:
        search, size = _even if setting.objective == "maximum" else _least, setting.workload.size
        return by_components(
            setting,
            allotment,
            "tree",
            lambda cost: {p: size(p[1]) ** 2 / Fraction(t) for p, t in search(setting, cost).items()},
        )


def _least(setting: Setting, cost: float) -> dict[Part, float]:
    """Precisions of least weighted sum of variances, over all cells or over tables."""
    weights = table_weights(setting.table, setting.importance, is_by_table=setting.objective == "tables")
    return cheapest(setting.table, node_gains(setting.table, weights), cost, setting.ways, setting.public)


def _even(setting: Setting, cost: float) -> dict[Part, float]:
    """Precisions of least largest variance: weight moves to the nodes whose cells are worst, and the best round is
    kept.
    """
    table = setting.table
    search = WorstWay(table, cost, setting.ways, setting.public, 1e-6)
    weights: list[FloatArray] = [np.full(table.tree.sizes[s.level], 1 / table.cells(s)) for s in table.shown]
    best: tuple[float, dict[Part, float]] | None = None
    for _ in range(rounds(table, 200)):
        chosen = search.step(node_gains(table, weights))
        worst = _worst(setting, search.solved(chosen))
        largest = max(float(w.max()) for w in worst)
        if best is None or largest < best[0]:
            best = (largest, chosen)
        weights = [w * v / largest for w, v in zip(weights, worst, strict=True)]
        total = sum(float(w.sum()) for w in weights)
        weights = [w / total for w in weights]
    assert best is not None
    return best[1]


def _worst(setting: Setting, solved: TreeLeastSquares) -> list[FloatArray]:
    """The largest variance of a cell of each node, over its importance; unions of nodes count for all their nodes."""
    largest, table = [], setting.table
    for shown, importance in zip(table.shown, setting.importance, strict=True):
        cells = solved.variance(shown).reshape(table.nodes(shown), -1).max(axis=1) / importance
        largest.append(cells if shown.leaves is None else np.full(table.tree.sizes[shown.level], cells.max()))
    return largest
