"""The full cross alone; every margin is a sum of its cells."""

from typing import ClassVar

from dalenius.core.cells import MOST_CELLS
from dalenius.errors import Unsupported
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.measured import measured
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["InteriorStrategy"]


class InteriorStrategy:
    """The full cross alone, or the finest level by all detail that is shown; everything else is a sum of its cells."""

    name: ClassVar[str] = "interior"
    plainness: ClassVar[int] = 1

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        table = setting.table
        if table.size(table.inner) > MOST_CELLS:
            raise Unsupported("The interior is too large to be measured.")
        return measured(setting, allotment, "interior", {table.inner: 1.0})

    along = option
