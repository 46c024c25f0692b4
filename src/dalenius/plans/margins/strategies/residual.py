"""Optimal Gaussian noise on residual components."""

from fractions import Fraction
from functools import partial
from typing import ClassVar

from dalenius.algebra.moves import Part
from dalenius.algebra.optimal import select
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.components import by_components
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["ResidualStrategy"]


class ResidualStrategy:
    name: ClassVar[str] = "residual"
    has_curve: ClassVar[bool] = True
    plainness: ClassVar[int] = 6

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        return by_components(setting, allotment, "residual", partial(_least, setting))


def _least(setting: Setting, cost: float) -> dict[Part, Fraction]:
    workload, without = setting.workload, frozenset(a for _, a in setting.public)
    chosen = select(workload, cost, setting.ways, objective=setting.objective, without=without)
    return {(0, a): Fraction(v) * workload.size(a) ** 2 for a, v in chosen.items() if v > 0}
