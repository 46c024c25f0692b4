"""Catalogues: read as gettext reads them, complete, without leftovers, and with the same placeholders."""

import ast
import gettext
import re
import string
from io import BytesIO
from pathlib import Path
from struct import pack

import pytest

import dalenius
from dalenius.translation import ENGLISH, Texts, languages, read_catalogue, texts, translated

ROOT = Path(dalenius.__file__).parent
OTHERS = languages()[1:]


def catalogue(language: str) -> dict[str, str]:
    entries = read_catalogue((ROOT / "locale" / f"{language}.po").read_text())
    return {english: other for english, other in entries.items() if english}


def test_english_comes_first_and_german_is_there() -> None:
    assert languages()[0] == ENGLISH and "de" in languages()


@pytest.mark.parametrize("language", OTHERS)
def test_every_entry_is_of_a_text_in_the_code_and_has_its_placeholders(language: str) -> None:
    written = {
        node.value
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    for english, other in catalogue(language).items():
        assert english in written, f"no code says {english!r}"
        names = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (english, other)]
        assert other and names[0] == names[1], english


def test_texts_are_mappings_by_language_and_an_unknown_one_is_refused() -> None:
    one = texts("Counts below {least} are shown as 0.")
    assert dict(one)["de"] == "Anzahlen unter {least} werden als 0 gezeigt." and len(one) == len(languages())
    assert translated({"en": "Negative counts are shown as 0."})["de"] == {
        "en": "Negative Anzahlen werden als 0 gezeigt."
    }
    with pytest.raises(KeyError):
        one["xx"]
    with pytest.raises(KeyError):
        Texts("a text that no catalogue has")["de"]


def compiled(entries: dict[str, str]) -> BytesIO:
    """The entries as a binary catalogue, laid out as GNU gettext documents it."""
    pairs = sorted((english.encode(), other.encode()) for english, other in entries.items())
    start = 28 + 16 * len(pairs)
    body, places = b"", ([], [])
    for column in (0, 1):
        for pair in pairs:
            places[column].append((len(pair[column]), start + len(body)))
            body += pair[column] + b"\0"
    head = pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return BytesIO(head + b"".join(pack("<2I", *place) for column in places for place in column) + body)


@pytest.mark.parametrize("language", OTHERS)
def test_the_standard_library_reads_the_same(language: str) -> None:
    entries = read_catalogue((ROOT / "locale" / f"{language}.po").read_text())
    read = gettext.GNUTranslations(compiled(entries))
    for english, other in entries.items():
        if english:
            assert read.gettext(english) == other


# Sentences that are put together for several measures, in each language by its own grammar.
PUT_TOGETHER = {"plans/pairs.py"}


def test_no_other_language_stands_in_the_code_of_the_library() -> None:
    """Letters of German, outside of examples and of the server's own files."""
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT)
        if place.parts[0] in ("spec", "methods", "plans", "shown") and place.as_posix() not in PUT_TOGETHER:
            code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S)
            assert not re.search("[äöüÄÖÜß]", code), path
