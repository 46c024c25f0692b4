"""Microdata sources, one file each."""

from dalenius.engines._choice import engine_for, open_source, suffixes
from dalenius.engines._column_summary import MOST_CATEGORIES, ColumnSummary, is_called_identifier, summarise
from dalenius.engines._rows import rows_of
from dalenius.engines._tally import scanned_cells

__all__ = ["ColumnSummary", "MOST_CATEGORIES", "engine_for", "is_called_identifier", "open_source"]
__all__ += ["rows_of", "scanned_cells", "suffixes", "summarise"]
