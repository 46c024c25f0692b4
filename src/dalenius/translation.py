"""Texts in other languages, read from the catalogues in `locale`; the English text is the key.

A catalogue is a file of GNU gettext, `locale/de.po`. English stands in the code, so that a text which a catalogue lacks
can be found, and a language is added without an edit of the code.
"""

from ast import literal_eval
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

__all__ = ["ENGLISH", "Texts", "languages", "texts", "translated"]

ENGLISH = "en"
_LOCALE = Path(__file__).with_name("locale")
Value = TypeVar("Value")


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of all languages, English first."""
    return (ENGLISH, *sorted(path.stem for path in _LOCALE.glob("*.po")))


def read_catalogue(content: str) -> dict[tuple[str, str], str]:
    """Return the translations of a catalogue by context and English text.

    >>> read_catalogue('msgctxt "axis"\\nmsgid "at most"\\nmsgstr "höchstens"')
    {('axis', 'at most'): 'höchstens'}
    """
    entries: dict[tuple[str, str], str] = {}
    parts: dict[str, str] = {}
    key = ""
    for line in (*content.splitlines(), ""):
        text = line.strip()
        if not text and "msgid" in parts:
            entries[parts.get("msgctxt", ""), parts["msgid"]] = parts.get("msgstr", "")
            parts, key = {}, ""
        elif text.startswith('"'):
            parts[key] += str(literal_eval(text))
        elif text and not text.startswith("#"):
            key, _, quoted = text.partition(" ")
            parts[key] = str(literal_eval(quoted))
    return entries


@cache
def _catalogue(language: str) -> Mapping[tuple[str, str], str]:
    return read_catalogue((_LOCALE / f"{language}.po").read_text(encoding="utf-8"))


class Texts(Mapping[str, Value], Generic[Value]):
    """One text, or a record of texts, by language; catalogues are read when another language is asked for."""

    def __init__(self, english: Value, context: str = "") -> None:
        self._english, self._context = english, context

    def __getitem__(self, language: str) -> Value:
        if language == ENGLISH:
            return self._english
        if language not in languages():
            raise KeyError(language)
        value: Value = _translated(self._english, language, self._context)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(languages())

    def __len__(self) -> int:
        return len(languages())

    def __repr__(self) -> str:
        return f"texts({self._english!r})"


def texts(english: str, context: str = "") -> Texts[str]:
    """Return a text by language; `context` tells apart equal English texts that other languages say differently."""
    return Texts(english, context)


def translated(english: Value, context: str = "") -> Texts[Value]:
    """Return a mapping or a dataclass of English texts by language."""
    return Texts(english, context)


def _translated(english: Any, language: str, context: str) -> Any:
    if isinstance(english, str):
        return _catalogue(language)[context, english] if english else english
    if isinstance(english, Mapping):
        return {name: _translated(text, language, context) for name, text in english.items()}
    changed = {part.name: _translated(getattr(english, part.name), language, context) for part in fields(english)}
    return replace(english, **changed)
