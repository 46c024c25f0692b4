"""Words in another language are for readers: checked, and no part of what a digest covers."""

from pathlib import Path
from typing import Any

import pytest

from dalenius.curator.curator import Curator
from dalenius.errors import DocumentError, UnknownName
from dalenius.spec.canonical import digest
from dalenius.spec.load import load_dataset

PLAIN: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "sex": {"categories": ["female", "male"], "hierarchies": {"all": {"both": ["female", "male"]}}},
        "age": {"bounds": [0, 100], "step": 1},
    },
}
GERMAN: dict[str, Any] = {
    "title": "Daten",
    "variables": {"sex": "Geschlecht"},
    "levels": {"all": "alle"},
    "labels": {"sex": {"female": "weiblich", "both": "beide"}},
}


def test_a_document_without_translations_keeps_its_canonical_form() -> None:
    document = load_dataset(PLAIN)
    assert "translations" not in document.to_dict()
    assert digest(document) == "b79e67295da46d65b2d16c2bcc56aa1e6085fbd6052c6a6716291e543b9b8873"


def test_a_translation_survives_a_round_trip() -> None:
    document = load_dataset(PLAIN | {"translations": {"de": GERMAN}})
    assert document.translations["de"].labels["sex"]["female"] == "weiblich"
    assert load_dataset(document.to_dict()) == document


def test_a_translation_is_added_without_a_new_version(tmp_path: Path) -> None:
    rows = {"sex": ["female"], "age": [3]}
    request = {"table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": 1}}
    with Curator.open(PLAIN, ledger=tmp_path / "l.sqlite", data=rows) as curator:
        curator.register(by="custodian")
        first = curator.release(request)
    translated = PLAIN | {"translations": {"de": GERMAN}}
    with Curator.open(translated, ledger=tmp_path / "l.sqlite", data=rows) as curator:
        assert curator.release(request).provenance.ledger_entry == first.provenance.ledger_entry


@pytest.mark.parametrize(
    "change",
    [
        {"variables": {"sexx": "x"}},
        {"labels": {"sexx": {}}},
        {"labels": {"sex": {"femal": "x"}}},
        {"levels": {"al": "x"}},
    ],
)
def test_words_that_translate_nothing_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UnknownName):
        load_dataset(PLAIN | {"translations": {"de": change}})


def test_two_categories_of_one_name_are_refused() -> None:
    with pytest.raises(DocumentError, match="same name"):
        load_dataset(PLAIN | {"translations": {"de": {"labels": {"sex": {"female": "x", "male": "x"}}}}})
