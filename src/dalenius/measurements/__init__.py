"""Private steps, one file each."""

from dalenius.measurements._example import Exact, MeasurementExample

__all__ = ["Exact", "MeasurementExample"]
