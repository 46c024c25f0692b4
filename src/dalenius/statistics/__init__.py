"""Exact functions of microdata, with their sensitivity."""

from dalenius.statistics._example import Example

__all__ = ["Example"]
