"""Remarks: stored in English, said in every language, found again by their sentence."""

from string import Formatter

import pytest

from dalenius.core import registry
from dalenius.spec.method import LANGUAGES
from dalenius.spec.notes import NOTES, in_language, note
from dalenius.testing.method_kit import released
from dalenius.translation import Texts


@pytest.mark.parametrize("code", NOTES)
def test_a_remark_is_said_in_every_language_and_found_again(code: str) -> None:
    texts = Texts(NOTES[code])
    fields = {n: "7" for _, n, _, _ in Formatter().parse(texts["en"]) if n}
    assert set(texts) == set(LANGUAGES) and texts["de"] != texts["en"]
    assert in_language(note(code, **fields), "de") == texts["de"].format(**fields)
    assert in_language(note(code, **fields), "en") == note(code, **fields)


def test_a_sentence_of_somebody_else_is_left_as_it_is() -> None:
    assert in_language("Counts below 5 are shown as 0. Really.", "de") is None


@pytest.mark.parametrize("name", registry.names("definitions"))
def test_every_remark_of_a_definition_is_known_in_german(name: str) -> None:
    assert all(in_language(text, "de") for text in registry.get("definitions", name).warnings)


@pytest.mark.parametrize("name", registry.names("methods"))
def test_every_remark_of_a_method_is_known_in_german(name: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    for number, example in enumerate(registry.get("methods", name).examples):
        release = released(example, tmp_path / f"{number}.sqlite")
        about = release.about.universe
        assert all(in_language(t, "de") for t in release.provenance.warnings if t != about)
