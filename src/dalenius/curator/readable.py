"""Whether the file that a dataset document names is there and has every declared column.

Names and types of columns are declared, not secret; no row is read, so that the answer does not depend on the content.
"""

from dalenius.engines._choice import open_source
from dalenius.spec.dataset import DatasetDocument


def check_source(document: DatasetDocument) -> None:
    """Refuse a missing file or column, before a ledger is opened or anything is spent."""
    open_source(document)
