"""table.csv: one row per cell; a column per variable, then value, errors, ends, status and the subject."""

from dalenius.core.release import Release, Table
from dalenius.publish._delimited import delimited
from dalenius.publish._format import Format

__all__ = ["CSV", "to_csv"]


def to_csv(release: Release, table: Table | None = None, confidence: float = 0.95) -> str:
    """All tables (or the one given) as CSV text; a label cannot become a formula."""
    return delimited(release, table, confidence, ",")


CSV = Format(name="csv", suffixes=(".csv",), media_type="text/csv", write=to_csv, is_per_table=True, stem="table")
