"""The full cross alone; every margin is a sum of its cells."""

from typing import ClassVar

from dalenius.algebra.tree_split import inner_part, part_cells
from dalenius.core.cells import MOST_CELLS
from dalenius.errors import Unsupported
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.levels import LevelCandidate, LevelSetting
from dalenius.plans.margins.measured import measured, measured_levels
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["InteriorStrategy"]


class InteriorStrategy:
    """The full cross alone; every margin is a sum of its cells."""

    name: ClassVar[str] = "interior"
    plainness: ClassVar[int] = 1

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        """Expected error, and how to measure it; a refusal where it does not apply."""
        if setting.workload.size(setting.workload.interior) > MOST_CELLS:
            raise Unsupported("The interior is too large to be measured.")
        return measured(setting, allotment, "interior", {setting.workload.interior: 1.0})

    @staticmethod
    def along(setting: LevelSetting, allotment: Allotment) -> LevelCandidate:
        """The finest level by all detail that is shown; every level is a sum of its cells."""
        inner = inner_part(setting.table)
        if part_cells(setting.table, inner) > MOST_CELLS:
            raise Unsupported("The interior is too large to be measured.")
        return measured_levels(setting, allotment, "interior", {inner: 1.0})
