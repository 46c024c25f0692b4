"""Each margin by itself, with the shares that are best after least squares."""

from typing import ClassVar

from dalenius.algebra.margins import Workload
from dalenius.algebra.shares import GaussianNoise, LaplaceNoise, NoisePrecision, optimise
from dalenius.algebra.tree_shares import node_gains, table_weights
from dalenius.algebra.tree_split import SplitSearch
from dalenius.core.cells import MOST_CELLS
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.measured import measured
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["SplitStrategy"]


class SplitStrategy:
    name: ClassVar[str] = "split"
    plainness: ClassVar[int] = 2

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        table, parts, noise = setting.table, list(setting.parts), _noise(setting, allotment)
        if table.inner not in parts and table.size(table.inner) <= MOST_CELLS:
            parts.append(table.inner)
        if setting.levels:
            weights = table_weights(table, setting.importance, is_by_table=setting.objective != "cells")
            shares = SplitSearch(table, node_gains(table, weights), tuple(parts), noise, setting.public).best()
            return measured(setting, allotment, "split", shares)
        workload, margins = setting.workload, [a for _, a in parts]
        if setting.total is not None and () in workload.margins:
            kept = [(m, w) for m, w in zip(workload.margins, workload.importance, strict=True) if m]
            workload = Workload(workload.shape, tuple(m for m, _ in kept), tuple(w for _, w in kept))
        best = optimise(workload, margins, noise, objective=setting.objective)
        return measured(setting, allotment, "split", {(0, a): s for a, s in best.items()})

    along = option


def _noise(setting: Setting, allotment: Allotment) -> NoisePrecision:
    rows, sides = setting.neighbours.max_rows, 2 if setting.neighbours.is_replace else 1
    rows *= 1 if setting.amounts is None else setting.amounts.largest
    if allotment.currency == "epsilon":
        return LaplaceNoise(float(allotment.amount), sides * rows)
    return GaussianNoise(float(allotment.amount), sides * rows**2)
