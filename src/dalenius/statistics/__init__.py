"""Exact functions of microdata, with their sensitivity."""

from dalenius.statistics._bases import Parabola, Separate, Simplex
from dalenius.statistics._example import Example
from dalenius.statistics._order_statistic import OrderStatistic

__all__ = ["Example", "OrderStatistic", "Parabola", "Separate", "Simplex"]
