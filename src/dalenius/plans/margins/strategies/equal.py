"""Each margin by itself, with equal shares: a baseline of the literature."""

from typing import ClassVar

from dalenius.algebra.shares import root_shares
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.measured import measured
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["EqualStrategy"]


class EqualStrategy:
    name: ClassVar[str] = "equal"
    plainness: ClassVar[int] = 3

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        return measured(setting, allotment, "equal", root_shares(setting.cells, 0))
