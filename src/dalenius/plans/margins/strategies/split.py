"""Each margin by itself, with the shares that are best after least squares."""

from typing import ClassVar

from dalenius.algebra.shares import GaussianNoise, LaplaceNoise, NoisePrecision, optimise
from dalenius.algebra.tree_shares import node_gains, table_weights
from dalenius.algebra.tree_split import SplitSearch, split_candidates
from dalenius.core.cells import MOST_CELLS
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.levels import LevelCandidate, LevelSetting
from dalenius.plans.margins.measured import measured, measured_levels
from dalenius.plans.margins.setting import Candidate, Setting, without_total

__all__ = ["SplitStrategy"]


class SplitStrategy:
    """Each margin by itself, with the shares that are best after least squares."""

    name: ClassVar[str] = "split"
    plainness: ClassVar[int] = 2

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        """Expected error, and how to measure it; a refusal where it does not apply."""
        workload = without_total(setting)
        candidates = list(workload.margins)
        if workload.interior not in candidates and workload.size(workload.interior) <= MOST_CELLS:
            candidates.append(workload.interior)
        shares = optimise(workload, candidates, _noise(setting, allotment), objective=setting.objective)
        return measured(setting, allotment, "split", shares)

    @staticmethod
    def along(setting: LevelSetting, allotment: Allotment) -> LevelCandidate:
        """Each level by the detail that is shown of it, with the shares that are best after least squares along the
        tree.
        """
        table = setting.table
        weights = table_weights(table, setting.importance, is_by_table=setting.objective != "cells")
        search = SplitSearch(
            table,
            node_gains(table, weights),
            tuple(p for p in split_candidates(table, MOST_CELLS) if p not in setting.public),
            _noise(setting, allotment),
            setting.public,
        )
        return measured_levels(setting, allotment, "split", search.best())


def _noise(setting: Setting | LevelSetting, allotment: Allotment) -> NoisePrecision:
    rows, sides = setting.neighbours.max_rows, 2 if setting.neighbours.is_replace else 1
    rows *= 1 if setting.amounts is None else setting.amounts.largest
    if allotment.currency == "epsilon":
        return LaplaceNoise(float(allotment.amount), sides * rows)
    return GaussianNoise(float(allotment.amount), sides * rows**2)
