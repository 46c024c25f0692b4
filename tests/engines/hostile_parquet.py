"""Parquet files that say of themselves what is not true."""

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.core.domain import Domain
from dalenius.spec.load import load_dataset

ROWS: dict[str, list[Any]] = {
    "person": [1000, 7, None, 8] * 50,
    "group": ["b", None, "d", "z"] * 50,
    "amount": [90, 5, None, 7] * 50,
}
# As many missing values in the same places, so that both files have the same layout.
SAID: dict[str, list[Any]] = {
    "person": [1, 1, None, 1] * 50,
    "group": ["a", None, "a", "a"] * 50,
    "amount": [1, 1, None, 1] * 50,
}


def domain(*, has_persons: bool) -> Domain:
    """Over the columns of the file."""
    document: dict[str, Any] = {
        "dataset": {"name": "hostile", "population": "hostile"},
        "variables": {
            "group": {"categories": ["a", "b", "other"], "unseen": "other", "unlisted": True},
            "amount": {"bounds": [0, 100], "step": 1},
        },
    }
    if has_persons:
        document["unit"] = {"id": "person", "max_rows": 2}
    return load_dataset(document).domain()


def mixed(path: Path, content: dict[str, list[Any]], said: dict[str, list[Any]]) -> Path:
    """The rows of one file under the description of another."""
    parts = []
    for columns in (content, said):
        kinds = {n: pa.string() if n == "group" else pa.int64() for n in columns}
        arrays = {n: pa.array(v, kinds[n]) for n, v in columns.items()}
        pq.write_table(pa.table(arrays), path, compression="none", use_dictionary=False)
        whole = path.read_bytes()
        end = len(whole) - 8 - struct.unpack("<i", whole[-8:-4])[0]
        parts.append((whole[:end], whole[end:]))
    path.write_bytes(parts[0][0] + parts[1][1])
    return path


def with_wrong_statistics(path: Path) -> Path:
    """Smallest and largest values are those of other rows."""
    return mixed(path, ROWS, SAID)
