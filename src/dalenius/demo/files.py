"""Files of the demos: shipped texts, and what is written once so that a folder keeps the custodian's edits."""

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any


def shipped(name: str) -> str:
    return (files("dalenius.demo") / name).read_text(encoding="utf-8")


def csv_text(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    stream = StringIO()
    csv.writer(stream, lineterminator="\n").writerows([heads, *lines])
    return stream.getvalue()


def write_missing(folder: Path, texts: Mapping[str, str]) -> None:
    """Make the folder and write each text whose file is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8", newline="")


def write_parquet(path: Path, columns: Mapping[str, Any]) -> None:
    """Write beside the target and then move, so that a half-written file is never used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    part = path.with_suffix(f".{os.getpid()}.part")
    pq.write_table(pa.table(dict(columns)), part, compression="zstd", store_schema=False)
    part.replace(path)
