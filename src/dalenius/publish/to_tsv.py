"""The columns of table.csv with tabs between them, for programs that split at tabs and for pasting."""

from dalenius.core.release import Release, Table
from dalenius.publish._delimited import delimited
from dalenius.publish._format import Format

__all__ = ["TSV", "to_tsv"]


def to_tsv(release: Release, table: Table | None = None, confidence: float = 0.95) -> str:
    """All tables (or the one given) as tab-separated text; a label cannot become a formula."""
    return delimited(release, table, confidence, "\t")


TSV = Format(name="tsv", suffixes=(".tsv",), media_type="text/tab-separated-values", write=to_tsv, is_per_table=True)
