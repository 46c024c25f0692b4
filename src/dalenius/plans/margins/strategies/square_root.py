"""Each margin by itself, with shares by the square root of its size: a baseline for Gaussian noise."""

from typing import ClassVar

from dalenius.algebra.shares import root_shares
from dalenius.errors import Unsupported
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.measured import measured
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["SquareRootStrategy"]


class SquareRootStrategy:
    name: ClassVar[str] = "square_root"
    plainness: ClassVar[int] = 4

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        if allotment.currency != "rho":
            raise Unsupported("The square root rule is for Gaussian noise.")
        return measured(setting, allotment, "square_root", root_shares(setting.cells, 1 / 2))
