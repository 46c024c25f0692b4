"""Private steps, one file each."""

from dalenius.measurements._example import COUNTS, TOTALS, Exact, MeasurementExample, on_cells

__all__ = ["COUNTS", "Exact", "MeasurementExample", "TOTALS", "on_cells"]
