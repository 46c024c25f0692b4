"""Writing releases to files and reading them back."""

import os
import tempfile
from pathlib import Path

from dalenius.core.release import Release, Table
from dalenius.errors import DocumentError
from dalenius.publish.to_csv import to_csv
from dalenius.publish.to_html import to_html
from dalenius.publish.to_json import load_release, to_json


def save(release: Release, path: str | Path) -> Path:
    """Write a release: one file by its ending (.json, .csv, .html), or all of them into a directory."""
    place = Path(path)
    if place.suffix == ".json":
        return _write(place, to_json(release))
    if place.suffix == ".csv":
        return _write(place, to_csv(release).encode())
    if place.suffix in (".html", ".htm"):
        return _write(place, to_html(release).encode())
    if place.suffix and not place.is_dir():
        raise DocumentError(
            f"A release is saved as .json, .csv, .html or into a directory; received {place.name!r}."
        )
    place.mkdir(parents=True, exist_ok=True)
    _write(place / "release.json", to_json(release))
    for index, table in enumerate(release.tables):
        name = "table.csv" if index == 0 else f"table-{index + 1}-{_slug(table)}.csv"
        _write(place / name, to_csv(release, table).encode())
    if release.tables:
        _write(place / "table.html", to_html(release).encode())
    return place


def _slug(table: Table) -> str:
    text = "-".join(axis.name for axis in table.space.axes) or "total"
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in text)[:80]


def _write(path: Path, content: bytes) -> Path:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def load(path: str | Path) -> Release:
    """Read a release back, given `release.json` or the directory that holds it."""
    return load_release(path)
