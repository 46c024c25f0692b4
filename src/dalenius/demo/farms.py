"""The demo's farms: a small public file with one row a unit, whose policy opens the guarantees that depend on
the data.
"""

import csv
from importlib.resources import files
from pathlib import Path

from dalenius.demo.tables import load

DATASET, POLICY, ROWS = "farms.toml", "farms-policy.toml", "farms.csv"
COLUMNS = ("size", "status", "varieties", "goutput", "totlabor", "region")


def materialise(directory: str | Path) -> Path:
    """Write rows, dataset document and policy, once; the dataset document. What already exists is left alone."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    for name, shipped in ((DATASET, "farms_dataset.toml"), (POLICY, "farms_policy.toml")):
        if not (folder / name).exists():
            text = (files("dalenius.demo") / "documents" / shipped).read_text(encoding="utf-8")
            (folder / name).write_text(text, encoding="utf-8")
    if not (folder / ROWS).exists():
        with (folder / ROWS).open("w", encoding="utf-8", newline="") as stream:
            out = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", lineterminator="\n")
            out.writeheader()
            out.writerows(rows())
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
