"""Every level of a hierarchy, with residual components of the other variables inside its nodes, with the best Gaussian
noise.
"""

from typing import ClassVar

import numpy as np

from dalenius.algebra.tree_cost import ALONE, WorstWay, cheapest, exact_cost, grid_variances, rounds
from dalenius.algebra.tree_shares import node_gains, table_weights
from dalenius.algebra.tree_table import Part, TreeLeastSquares
from dalenius.core.law import FloatArray
from dalenius.errors import Unsupported
from dalenius.measurements.tree_residual import TreeResidual
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.levels import LevelCandidate, LevelSetting
from dalenius.plans.margins.setting import check_rounding, least_cost, within_cost

__all__ = ["TreeStrategy"]


class TreeStrategy:
    """Every level of a hierarchy, with residual components of the other variables inside its nodes."""

    name: ClassVar[str] = "tree"
    has_curve: ClassVar[bool] = True
    plainness: ClassVar[int] = 7

    @staticmethod
    def along(setting: LevelSetting, allotment: Allotment) -> LevelCandidate:
        """Expected error, and how to measure it; a refusal where it does not apply."""
        if allotment.currency != "rho":
            raise Unsupported("Levels with residual components are priced in rho.")
        if setting.mechanism not in (None, "discrete_gaussian"):
            raise Unsupported("Levels with residual components use discrete Gaussian noise.")
        table, ways = setting.table, setting.moves()
        allowed = 2 * allotment.amount / setting.neighbours.max_rows**2
        amounts = setting.amounts and setting.amounts.fitted(max(map(table.workload.size, table.finest)))
        cost = least_cost(amounts, allowed)
        search = _even if setting.objective == "maximum" else _least
        grid = within_cost(
            amounts,
            grid_variances(table.shape, search(setting, float(cost)), cost, ways),
            lambda variances: exact_cost(table.shape, variances, ways),
            lambda variances: exact_cost(table.shape, variances, (ALONE,)),
            allowed,
            is_replace=setting.neighbours.is_replace,
        )
        unit = 1.0 if amounts is None else float(amounts.step) ** 2
        precisions = {p: table.workload.size(p[1]) ** 2 / (unit * float(v)) for p, v in grid.items()}
        step = TreeResidual(
            "parts",
            table.tree,
            setting.levels,
            setting.detail,
            setting.where,
            grid,
            setting.total is not None,
            amounts,
            allotment.is_by_loss,
        )
        check_rounding(amounts, step)
        return LevelCandidate(
            strategy="tree",
            mechanism="discrete_gaussian",
            law=setting.law(precisions),
            build=lambda: ((step,), [{"name": step.name, "kind": "tree_residual"}]),
        )


def _least(setting: LevelSetting, cost: float) -> dict[Part, float]:
    """Precisions of least weighted sum of variances, over all cells or over tables."""
    weights = table_weights(setting.table, setting.importance, is_by_table=setting.objective == "tables")
    return cheapest(setting.table, node_gains(setting.table, weights), cost, setting.moves(), setting.public)


def _even(setting: LevelSetting, cost: float) -> dict[Part, float]:
    """Precisions of least largest variance: weight moves to the nodes whose cells are worst, and the best round is
    kept.
    """
    table = setting.table
    search = WorstWay(table, cost, setting.moves(), setting.public, 1e-6)
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


def _worst(setting: LevelSetting, solved: TreeLeastSquares) -> list[FloatArray]:
    """The largest variance of a cell of each node, over its importance; unions of nodes count for all their nodes."""
    largest, table = [], setting.table
    for shown, importance in zip(table.shown, setting.importance, strict=True):
        cells = solved.variance(shown).reshape(table.nodes(shown), -1).max(axis=1) / importance
        largest.append(cells if shown.leaves is None else np.full(table.tree.sizes[shown.level], cells.max()))
    return largest
