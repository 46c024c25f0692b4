"""Each margin by itself, with shares by the cube root of its size: a baseline for Laplace noise."""

from typing import ClassVar

from dalenius.algebra.shares import root_shares
from dalenius.errors import Unsupported
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.measured import measured
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["CubeRootStrategy"]


class CubeRootStrategy:
    name: ClassVar[str] = "cube_root"
    plainness: ClassVar[int] = 4

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        if allotment.currency != "epsilon":
            raise Unsupported("The cube root rule is for Laplace noise.")
        return measured(setting, allotment, "cube_root", root_shares(setting.cells, 1 / 3))
