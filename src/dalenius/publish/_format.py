"""What every format states: its name, the endings of its files, its media type, and how it is written and read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core import registry
from dalenius.core.release import Release, Table
from dalenius.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One kind of file that a release can be written as; saving, `-o` and downloads find it by itself.

    `write` takes a release, and a table too if `is_per_table`; without a table it writes all. `stem` names the file in
    the directory of a release; a format without one is written where its ending asks for it. Exactly one format
    `is_document`: it holds everything, also a release that has no table, and is what `load` finds in a directory. One
    that `is_spoken` is for reading: its `write` takes the reader's `language`.
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

    def content(self, release: Release, *table: Table, language: str | None = None) -> bytes:
        """The bytes of a file; the language is that of words for readers, where a format has any."""
        if not (release.tables or self.is_document):
            raise RequestError(
                f"This release has no table: the outcome was 'no reply'. Its {document().name.upper()} document says "
                "so."
            )
        spoken = {"language": language} if self.is_spoken and language else {}
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
