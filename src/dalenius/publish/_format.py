"""What every format states: its name, the endings of its files, its media type, and how it is written and read;
writing releases to files and reading them back.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from dalenius.core import registry
from dalenius.core.release import Release, Table
from dalenius.errors import DocumentError, RequestError
from dalenius.publish._document import Cells, from_json, in_columns, is_large


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One kind of file that a release can be written as; saving, `-o` and downloads find it by itself.

    `write` takes a release, and a table too if `is_per_table`; without a table it writes all. `stem` names the file in
    the directory of a release; a format without one is written where its ending asks for it. Exactly one format
    `is_document`: it holds everything, also a release that has no table, and is what `load` finds in a directory. One
    that `is_spoken` is for reading: its `write` takes the reader's `language`. One that `describes` another says what
    files of that format hold: it is written beside each of them, and its `write` takes the name of the file as `url`.
    """

    name: str
    suffixes: tuple[str, ...]
    media_type: str
    write: Callable[..., bytes | str]
    read: Callable[[bytes], Release] | None = None
    is_per_table: bool = False
    is_document: bool = False
    is_spoken: bool = False
    stem: str = ""
    describes: str = ""

    def content(self, release: Release, *table: Table, language: str | None = None, url: str = "") -> bytes:
        """The bytes of a file; the language is that of words for readers, where a format has any."""
        if not (release.tables or self.is_document):
            raise RequestError(
                f"This release has no table: the outcome was 'no reply'. Its {document().name.upper()} document says "
                "so."
            )
        spoken = {"language": language} if self.is_spoken and language else {}
        spoken |= {"url": url} if self.describes and url else {}
        made: Any = self.write(release, *table, **spoken)
        return made.encode() if isinstance(made, str) else bytes(made)


def formats() -> Mapping[str, Format]:
    """Every format by its name; the document comes first, and the project's own before those of others."""
    own = sorted(registry.own("publish").values(), key=lambda form: (not form.is_document, form.name))
    return _first((form.name, form) for form in (*own, *registry.every("publish").values()))


def document() -> Format:
    return next(iter(formats().values()))


def by_suffix() -> Mapping[str, Format]:
    return _first((suffix, form) for form in formats().values() for suffix in form.suffixes)


def form_of(name: str) -> Format | None:
    """The format of a file, by the longest ending that fits."""
    fitting = [suffix for suffix in by_suffix() if name.lower().endswith(suffix)]
    return by_suffix()[max(fitting, key=len)] if fitting else None


def _descriptions(name: str) -> Iterator[tuple[str, Format]]:
    """The files that say what a file holds, beside it."""
    described = form_of(name)
    for form in formats().values():
        if described is not None and form.describes == described.name:
            yield name + form.suffixes[0].removeprefix(described.suffixes[0]), form


def _first(pairs: Iterable[tuple[str, Format]]) -> dict[str, Format]:
    """Return what comes first under each name: no other distribution takes a name or an ending of the project's."""
    named: dict[str, Format] = {}
    for name, form in pairs:
        named.setdefault(name, form)
    return named


def listed_suffixes() -> str:
    """The first ending of every format, for messages: `.json, .csv or .html`."""
    *first, last = (form.suffixes[0] for form in formats().values())
    return f"{', '.join(first)} or {last}" if first else last


MOST_IN_TEXT = 5_000_000
"""Cells of one table beyond which a directory has no text file of it: it is read from the columnar file."""


def is_single_file(path: str | Path) -> bool:
    """Whether a release saved there is one file, by its ending, or a directory of files; other endings are refused.

    An ending of digits belongs to a name: `out_0.5` is a directory.
    """
    place = Path(path)
    if place.is_dir() or not place.suffix[1:2].isalpha():
        return False
    if form_of(place.name) is None:
        raise DocumentError(f"A release is saved as {listed_suffixes()}, or into a directory; received {place.name!r}.")
    return True


def save(release: Release, path: str | Path) -> Path:
    """Write a release: one file, in the format of its ending (.json, .csv, …), or a directory of the usual ones."""
    place = Path(path)
    form = form_of(place.name)
    if is_single_file(place) and form is not None:
        for name, description in _descriptions(place.name):
            _write(place.with_name(name), description.content(release, url=place.name))
        return _write(place, form.content(release))
    place.mkdir(parents=True, exist_ok=True)
    for name, content in _files(release).items():
        _write(place / name, content())
    return place


def load(path: str | Path) -> Release:
    """Read a release back, given its document or the directory that holds it."""
    place = Path(path)
    file = place / _name(document()) if place.is_dir() else place
    if not file.is_file():
        raise DocumentError(f"There is no release document at {str(path)!r}.")
    form = form_of(file.name) or document()
    if form.is_document:
        return from_json(file.read_bytes(), file.parent)
    if form.read is None:
        raise DocumentError(
            f"A release is not read back from {file.name!r}: its {document().suffixes[0]} document holds what"
            " a table leaves out."
        )
    return form.read(file.read_bytes())


def written_names(release: Release) -> list[str]:
    """Names of the files of a release in its directory; a release without a table has its document alone."""
    return list(_files(release))


def _files(release: Release) -> dict[str, Callable[[], bytes]]:
    files: dict[str, Callable[[], bytes]] = {}
    cells = Cells.of(release) if is_large(release) else None
    if cells is not None:
        files[cells.name] = partial(bytes, cells.content)
    for form in formats().values():
        if not form.stem or not (release.tables or form.is_document):
            continue
        if form.is_document and cells is not None:
            files[_name(form)] = partial(in_columns, release, cells, is_inside=False)
            continue
        if not form.is_per_table:
            files[_name(form)] = partial(form.content, release)
            continue
        for number, table in enumerate(release.tables, start=1):
            if len(table.values) > MOST_IN_TEXT:
                continue
            extra = "" if number == 1 else f"-{number}-{_slug(table)}"
            name = _name(form, extra)
            files[name] = partial(form.content, release, table)
            for beside, description in _descriptions(name):
                files[beside] = partial(description.content, release, table, url=name)
    return files


def is_written_name(name: str) -> bool:
    """Whether a release saved into a directory may write a file of this name."""
    usual = [form for form in formats().values() if form.stem]
    form = form_of(name)
    if form is not None and form.describes:
        name = name.removesuffix(form.suffixes[0]) + formats()[form.describes].suffixes[0]
    return fnmatchcase(name, "cells-????????????????.parquet") or any(
        name == _name(f) or (f.is_per_table and fnmatchcase(name, _name(f, "-*"))) for f in usual
    )


def _name(form: Format, extra: str = "") -> str:
    return f"{form.stem}{extra}{form.suffixes[0]}"


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
