"""Code lists and codebooks: what values mean, from a file that somebody wrote for people, not from rows.

A codebook is a CSV file with the columns variable, code and label, of several variables. A code list is one of code and
label, of a single variable, and a hierarchy file one of code and a column for each level above it.
"""

from collections.abc import Iterable
from pathlib import Path

from dalenius.errors import DocumentError
from dalenius.limits import DocumentLimits
from dalenius.spec.coding import canonical_text
from dalenius.spec.screening import read_rows

_HEADER = ("variable", "code", "label")
_LIMITS = DocumentLimits(size=5_000_000)


def read_codebook(path: str | Path) -> dict[str, dict[str, str]]:
    """Labels by code by variable, in the order of the file."""
    rows = read_rows(Path(path), f"code list {Path(path).name!r}", _LIMITS)
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
    rows = read_rows(Path(path), f"code list {Path(path).name!r}", _LIMITS)
    codes = {canonical_text(row[0]) or row[0]: row[1] if len(row) > 1 and row[1] else row[0] for row in rows[1:]}
    if len(codes) != len(rows) - 1:
        raise DocumentError(f"The code list {Path(path).name!r} names a code twice.")
    return codes


def levels_of(rows: list[list[str]]) -> dict[str, dict[str, list[str]]]:
    """Groups of each level with their codes, from rows of code and one column for each level, after their header."""
    levels: dict[str, dict[str, list[str]]] = {}
    for column, level in enumerate(rows[0][1:], start=1):
        groups: dict[str, list[str]] = {}
        for row in rows[1:]:
            if len(row) <= column:
                raise DocumentError(f"A row of a hierarchy file says nothing about the level in column {column + 1}.")
            groups.setdefault(row[column], []).append(row[0])
        levels[level] = groups
    return levels


def read_levels(path: str | Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Levels above the codes of one variable, from a CSV file."""
    levels = levels_of(read_rows(Path(path), f"hierarchy file {Path(path).name!r}", _LIMITS))
    return {level: {group: tuple(codes) for group, codes in groups.items()} for level, groups in levels.items()}


def find_levels(data: Path, variables: Iterable[str]) -> dict[str, Path]:
    """Hierarchy files beside a data file that are named after variables, such as `region_levels.csv`."""
    beside = {path.stem.lower(): path for path in data.parent.glob("*.csv")}
    places = {name: beside.get(f"{name.lower()}_levels") for name in variables}
    return {name: path for name, path in places.items() if path is not None}


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
