"""Writing releases to files and reading them back."""

import os
import tempfile
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from dalenius.core.release import Release, Table
from dalenius.errors import DocumentError
from dalenius.publish.to_csv import to_csv
from dalenius.publish.to_html import to_html
from dalenius.publish.to_json import load_release, to_json

_WRITERS: dict[str, Callable[[Release], bytes]] = {
    ".json": to_json,
    ".csv": lambda release: to_csv(release).encode(),
    ".html": lambda release: to_html(release).encode(),
    ".htm": lambda release: to_html(release).encode(),
}


def is_single_file(path: str | Path) -> bool:
    """Whether a release saved there is one file, by its ending, or a directory of files; other endings are refused.

    An ending of digits belongs to a name: `out_0.5` is a directory.
    """
    place = Path(path)
    if place.is_dir() or not place.suffix[1:2].isalpha():
        return False
    if place.suffix.lower() not in _WRITERS:
        raise DocumentError(
            f"A release is saved as .json, .csv, .html or into a directory; received {place.name!r}."
        )
    return True


def save(release: Release, path: str | Path) -> Path:
    """Write a release: one file by its ending (.json, .csv, .html), or all of them into a directory."""
    place = Path(path)
    if is_single_file(place):
        return _write(place, _WRITERS[place.suffix.lower()](release))
    place.mkdir(parents=True, exist_ok=True)
    for name, write in _files(release).items():
        _write(place / name, write(release))
    return place


def written_names(release: Release) -> list[str]:
    """Names of the files of a release in its directory; a release without a table has its document alone."""
    return list(_files(release))


def _files(release: Release) -> dict[str, Callable[[Release], bytes]]:
    files: dict[str, Callable[[Release], bytes]] = {"release.json": to_json}
    for index, table in enumerate(release.tables):
        name = "table.csv" if index == 0 else f"table-{index + 1}-{_slug(table)}.csv"
        files[name] = lambda release, table=table: to_csv(release, table).encode()  # type: ignore[misc]
    return files | ({"table.html": _WRITERS[".html"]} if release.tables else {})


def is_written_name(name: str) -> bool:
    """Whether a release saved into a directory may write a file of this name."""
    return name in ("release.json", "table.csv", "table.html") or fnmatchcase(name, "table-*.csv")


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
