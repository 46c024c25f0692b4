"""Interface strings, one file a language; every language has every key, with the same placeholders (tested).

Refusals are written in English where they arise. Other languages have a sentence for each stable code, in `refusals/`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

DEFAULT = "en"


@cache
def languages() -> tuple[str, ...]:
    names = sorted(f.name[:-5] for f in files(__name__).iterdir() if f.name.endswith(".toml"))
    return (DEFAULT, *(name for name in names if name != DEFAULT))


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """All strings of one language under dotted keys; the default's if there is no such language."""
    code = language if language in languages() else DEFAULT
    text = files(__name__).joinpath(f"{code}.toml").read_text(encoding="utf-8")
    return dict(_flatten(tomllib.loads(text)))


@cache
def refusals(language: str) -> Mapping[str, str]:
    """A sentence for each code of a refusal; empty for the language in which the messages themselves are written."""
    place = files(__name__).joinpath("refusals").joinpath(f"{language}.toml")
    if language == DEFAULT or language not in languages():
        return {}
    return dict(_flatten(tomllib.loads(place.read_text(encoding="utf-8"))))


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)


def translate(language: str, key: str, /, **values: object) -> str:
    """A string with its placeholders filled; an unknown key shows itself, so that a test and a reader notice it.

    >>> translate("en", "home.version", version="2010-1")
    'Version 2010-1'
    """
    text = catalogue(language).get(key)
    if text is None:
        return key
    return text.format_map({name: str(value) for name, value in values.items()}) if values else text
