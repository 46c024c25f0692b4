"""Code lists and codebooks: what values mean, from a file that somebody wrote for people, not from rows.

A codebook is a CSV file with the columns variable, code and label, of several variables. A code list is one of code and
label, of a single variable.
"""

import csv
from collections.abc import Iterable
from pathlib import Path

from dalenius.errors import DocumentError
from dalenius.spec.coding import canonical_text

_HEADER = ("variable", "code", "label")
_LARGEST = 5_000_000


def read_codebook(path: str | Path) -> dict[str, dict[str, str]]:
    """Labels by code by variable, in the order of the file."""
    rows = _rows(Path(path))
    if tuple(name.strip().lower() for name in rows[0][:3]) != _HEADER:
        raise DocumentError(f"A codebook has the columns variable, code and label; {Path(path).name!r} has others.")
    codes: dict[str, dict[str, str]] = {}
    for row in rows[1:]:
        if len(row) < 3:
            raise DocumentError(f"A row of the codebook {Path(path).name!r} has fewer than three columns.")
        labels = codes.setdefault(row[0], {})
        code = canonical_text(row[1]) or row[1]
        if code in labels:
            raise DocumentError(f"The codebook {Path(path).name!r} names a code of {row[0]!r} twice.")
        labels[code] = row[2] or row[1]
    return codes


def read_code_list(path: str | Path) -> dict[str, str]:
    """Labels by code of one variable; a code without a label is its own."""
    rows = _rows(Path(path))
    codes = {canonical_text(row[0]) or row[0]: row[1] if len(row) > 1 and row[1] else row[0] for row in rows[1:]}
    if len(codes) != len(rows) - 1:
        raise DocumentError(f"The code list {Path(path).name!r} names a code twice.")
    return codes


def find_codebook(data: Path, columns: Iterable[str]) -> Path | None:
    """A codebook beside a data file that is named after it and speaks of at least one of its columns.

    Named after `survey_2024.csv` are `codebook.csv`, `survey_codebook.csv` and `survey_2024_codebook.csv`.
    """
    names, stem = set(columns), data.name.split(".")[0].lower()
    beside = [path for path in data.parent.glob("*.csv") if path.stem.lower().endswith("codebook")]
    own = [path for path in beside if stem.startswith(path.stem.lower().removesuffix("codebook").rstrip("_- "))]
    for path in sorted(own, key=lambda p: (-len(p.name), p.name)):
        try:
            if names & set(read_codebook(path)):
                return path
        except DocumentError:
            continue
    return None


def _rows(path: Path) -> list[list[str]]:
    try:
        if path.stat().st_size > _LARGEST:
            raise DocumentError(f"The code list {path.name!r} is larger than {_LARGEST:,} bytes.")
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DocumentError(f"The code list {path.name!r} could not be read ({type(error).__name__}).") from None
    if len(rows) < 2:
        raise DocumentError(f"The code list {path.name!r} needs a header and at least one row.")
    return rows
