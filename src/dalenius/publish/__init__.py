"""Documents made from releases; one file each."""

from dalenius.publish._files import load, save

__all__ = ["load", "save"]
