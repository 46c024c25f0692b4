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

__all__ = ["ENGLISH", "Texts", "languages", "number_marks", "texts", "translated"]

ENGLISH = "en"
_LOCALE = Path(__file__).with_name("locale")
_MARKS = {"de": str.maketrans(",.", ".,")}
Value = TypeVar("Value")


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of all languages, English first."""
    return (ENGLISH, *sorted(path.stem for path in _LOCALE.glob("*.po")))


def number_marks(number: str, language: str) -> str:
    """Return a number with the marks that readers of the language expect.

    >>> number_marks("1,234.5", "de")
    '1.234,5'
    """
    return number.translate(_MARKS[language]) if language in _MARKS else number


def read_catalogue(content: str) -> dict[str, str]:
    """Return the translations of a catalogue by English text.

    >>> read_catalogue('msgid "at most"\\nmsgstr "höchstens"')
    {'at most': 'höchstens'}
    """
    entries: dict[str, str] = {}
    parts: dict[str, str] = {}
    key = ""
    for line in (*content.splitlines(), ""):
        text = line.strip()
        if not text and "msgid" in parts:
            entries[parts["msgid"]] = parts.get("msgstr", "")
            parts, key = {}, ""
        elif text.startswith('"'):
            parts[key] += str(literal_eval(text))
        elif text and not text.startswith("#"):
            key, _, quoted = text.partition(" ")
            parts[key] = str(literal_eval(quoted))
    return entries


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    return read_catalogue((_LOCALE / f"{language}.po").read_text(encoding="utf-8"))


class Texts(Mapping[str, Value], Generic[Value]):
    """One text, or a record of texts, by language; catalogues are read when another language is asked for."""

    def __init__(self, english: Value) -> None:
        self._english = english

    def __getitem__(self, language: str) -> Value:
        if language == ENGLISH:
            return self._english
        if language not in languages():
            raise KeyError(language)
        value: Value = _translated(self._english, language)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(languages())

    def __len__(self) -> int:
        return len(languages())

    def __repr__(self) -> str:
        return f"texts({self._english!r})"


def texts(english: str) -> Texts[str]:
    return Texts(english)


def translated(english: Value) -> Texts[Value]:
    """Return a mapping or a dataclass of English texts by language."""
    return Texts(english)


def _translated(english: Any, language: str) -> Any:
    if isinstance(english, str):
        return _catalogue(language)[english] if english else english
    if isinstance(english, Mapping):
        return {name: _translated(text, language) for name, text in english.items()}
    return replace(
        english, **{part.name: _translated(getattr(english, part.name), language) for part in fields(english)}
    )
