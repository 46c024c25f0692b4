"""The embedded demo population, its documents, and small public tables."""

from dalenius.demo.tables import load, names

__all__ = ["load", "names"]
