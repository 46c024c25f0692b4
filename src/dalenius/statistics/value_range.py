"""The difference between the largest and the smallest value of one numeric variable."""

from dataclasses import dataclass

from dalenius.statistics._difference import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRange(Difference):
    """The largest value less the smallest; guarantee, requirements and evidence are those of `Difference`."""

    @staticmethod
    def lower(n: int) -> int:
        return 1

    @staticmethod
    def upper(n: int) -> int:
        return n
