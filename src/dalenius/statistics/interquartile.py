"""The distance between the quartiles of one numeric variable."""

from dataclasses import dataclass
from fractions import Fraction

from dalenius.exact.order_statistics import index_rule
from dalenius.statistics._difference import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Interquartile(Difference):
    """The upper quartile less the lower; guarantee, requirements and evidence are those of `Difference`."""

    @staticmethod
    def lower(n: int) -> int:
        return index_rule(Fraction(1, 4), n)

    @staticmethod
    def upper(n: int) -> int:
        return index_rule(Fraction(3, 4), n)
