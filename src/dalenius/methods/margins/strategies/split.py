"""Each margin by itself, with the shares that are best after least squares."""

from typing import ClassVar

from dalenius.core.domain import MOST_CELLS
from dalenius.linear.shares import GaussianNoise, LaplaceNoise, NoisePrecision, optimise
from dalenius.methods.margins.measured import measured
from dalenius.methods.margins.setting import Allotment, Candidate, Setting, without_total

__all__ = ["SplitStrategy"]


class SplitStrategy:
    """Each margin by itself, with the shares that are best after least squares."""

    name: ClassVar[str] = "split"
    plainness: ClassVar[int] = 2

    @staticmethod
    def option(setting: Setting, purse: Allotment) -> Candidate:
        """Expected error, and how to measure it; a refusal where it does not apply."""
        workload = without_total(setting)
        candidates = list(workload.margins)
        if workload.interior not in candidates and workload.size(workload.interior) <= MOST_CELLS:
            candidates.append(workload.interior)
        shares = optimise(workload, candidates, _noise(setting, purse), objective=setting.objective)
        return measured(setting, purse, "split", shares)


def _noise(setting: Setting, purse: Allotment) -> NoisePrecision:
    rows, sides = setting.neighbours.max_rows, 2 if setting.neighbours.is_replace else 1
    if purse.currency == "epsilon":
        return LaplaceNoise(float(purse.amount), sides * rows)
    return GaussianNoise(float(purse.amount), sides * rows**2)
