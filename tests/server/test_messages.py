"""Every language has every string, with the same placeholders; every string that a page asks for exists."""

import re
import string
from pathlib import Path

import pytest

from dalenius.core import registry
from dalenius.server import messages

SERVER = Path(messages.__file__).parent.parent


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", [code for code in messages.languages() if code != messages.DEFAULT])
def test_languages_have_the_same_keys_and_placeholders(language: str) -> None:
    ours, theirs = messages.catalogue(messages.DEFAULT), messages.catalogue(language)
    assert set(ours) == set(theirs)
    assert {k: placeholders(v) for k, v in ours.items()} == {k: placeholders(v) for k, v in theirs.items()}
    shared = [k for k in ours if ours[k] == theirs[k] and len(ours[k].split()) > 2]
    assert shared == [], "a long string that is the same in both languages was not translated"


def test_every_string_that_is_asked_for_exists() -> None:
    known = set(messages.catalogue(messages.DEFAULT))
    missing = []
    for place in [*SERVER.glob("templates/**/*.html"), *SERVER.glob("pages/*.py")]:
        text = place.read_text(encoding="utf-8")
        for key in re.findall(r"""\bt\(\s*["']([a-z_]+\.[a-z_]+)["']\s*[,)]""", text):
            if key not in known:
                missing.append((place.name, key))
        for key in re.findall(r"""\bt\(\s*f?["']([a-z_]+\.[a-z_]*)(?:["'] ~|\{)""", text):
            if not any(k.startswith(key) for k in known):
                missing.append((place.name, key))
    assert missing == []


@pytest.mark.parametrize("language", messages.languages())
def test_every_measure_that_can_be_asked_has_a_title(language: str) -> None:
    for method in registry.every("methods").values():
        assert language in method.words


def test_no_string_is_unused() -> None:
    text = "".join(
        p.read_text(encoding="utf-8") for p in [*SERVER.glob("templates/**/*.html"), *SERVER.glob("pages/*.py")]
    )
    made = set(re.findall(r"""["']([a-z_]+\.[a-z_]*)(?:["'] ~|\{)""", text))
    unused = [
        key
        for key in messages.catalogue(messages.DEFAULT)
        if f'"{key}"' not in text and f"'{key}'" not in text and not any(key.startswith(prefix) for prefix in made)
    ]
    assert [
        key for key in unused if not key.startswith(("role.", "definition.", "mechanism.", "strategy.", "unit."))
    ] == []
