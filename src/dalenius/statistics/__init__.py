"""Exact functions of microdata, with their sensitivity."""

from dalenius.statistics._bases import Parabola, Separate, Simplex
from dalenius.statistics._example import Example

__all__ = ["Example", "Parabola", "Separate", "Simplex"]
