"""The demo's farms: a small public file with one row per unit, and a policy for data-dependent guarantees."""

from pathlib import Path

from dalenius.demo.files import csv_text, shipped, write_missing
from dalenius.demo.tables import load

DATASET, POLICY, ROWS = "farms.toml", "farms-policy.toml", "farms.csv"
COLUMNS = ("size", "status", "varieties", "goutput", "totlabor", "region")


def materialise(directory: str | Path) -> Path:
    """Write rows, dataset document and policy, once; the dataset document. What already exists is left alone."""
    folder = Path(directory)
    documents = {DATASET: "farms_dataset.toml", POLICY: "farms_policy.toml"}
    texts = {name: shipped(f"documents/{source}") for name, source in documents.items()}
    table = csv_text(COLUMNS, [[row[column] for column in COLUMNS] for row in rows()])
    write_missing(folder, texts | {ROWS: table})
    return folder / DATASET


def rows() -> list[dict[str, str]]:
    """Each farm in its first season; a farm in six seasons would be six rows of one unit.

    >>> len(rows())
    171
    """
    first: dict[str, dict[str, str]] = {}
    for row in load("ricefarms").rows:
        first.setdefault(row["id"], row)
    return list(first.values())
