"""A data set speaks the reader's language where its document does; requests and documents keep its own words."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dalenius.demo import survey
from dalenius.server.accounts import Role, User
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.shown.speech import heading

CONFIG = """
policy = "policy.toml"
secure_cookies = false
[[datasets]]
document = "survey-2023.toml"
"""
CARLA = User("carla", Role.CUSTODIAN)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("translated")
    survey.materialise(folder, 300)
    (folder / "server.toml").write_text(CONFIG)
    made = create_app(ServerConfig.load(folder / "server.toml"))
    made.state.services.custody.register(CARLA, "survey-2023")
    with TestClient(made):
        yield made


def pages(app: Any, path: str) -> tuple[str, str]:
    """The same page in English and in German."""
    english, german = TestClient(app), TestClient(app)
    german.get("/language/de", params={"next": "/"})
    return english.get(path).text, german.get(path).text


def test_title_variables_levels_and_categories_are_translated(app: Any) -> None:
    english, german = pages(app, "/d/survey-2023")
    for own, said in (
        ("Labour force survey 2023 (synthetic)", "Arbeitskräfteerhebung 2023 (synthetisch)"),
        ("Labour status", "Erwerbsstatus"),
        ("self-employed", "selbständig"),
        ("district", "Kreis"),
    ):
        assert own in english and said not in english
        assert said in german
    assert "Labour status" not in german


def test_a_form_shows_translated_words_and_sends_the_documents_own(app: Any) -> None:
    english, german = pages(app, "/d/survey-2023/table?rows=region&columns=status&layers=sex")
    for text in (english, german):
        assert 'value="self-employed"' in text and 'value="district"' in text
    assert "<span>selbständig</span>" in german and "<span>self-employed</span>" in english
    assert "männlich" in german and "männlich" not in english


def test_a_released_table_is_shown_in_the_readers_language_and_downloaded_in_its_own(app: Any) -> None:
    request = {
        "table": {"rows": [{"variable": "occupation", "level": "group"}], "columns": ["sex"]},
        "privacy": {"definition": "pure", "epsilon": 1},
    }
    curator = app.state.services.desk.find("survey-2023").curator
    entry = curator.release(request).provenance.ledger_entry
    english, german = pages(app, f"/r/{entry}")
    assert "Führungskräfte" in german and "Berufshauptgruppe" in german and "weiblich" in german
    assert "Managers" in english and "Führungskräfte" not in english
    download = TestClient(app).get(f"/api/v1/releases/{entry}", headers={"Accept": "text/csv"}).text
    assert "Führungskräfte" not in download
    english, german = pages(app, f"/r/{entry}.html")
    assert '<html lang="en">' in english and "Where this comes from" in english and "Managers" in english
    assert '<html lang="de">' in german and "Woher das kommt" in german and "Insgesamt" in german
    for own, said in (
        ("Managers", "Führungskräfte"),
        ("female", "weiblich"),
        ("Labour force survey", "Arbeitskräfteerhebung"),
        ("margin of error", "Fehlerspanne"),
        ("Number of records", "Anzahl der Datensätze"),
    ):
        assert own not in german and said in german, own
    numbers = [
        re.findall(r'>(−?[\d.,]+)</span>(?:<span class="sign">.</span>)?<span class="moe">± ([\d.,]+)<', text)
        for text in (english, german)
    ]
    swapped = str.maketrans(",.", ".,")
    assert numbers[0] and [(a.translate(swapped), b.translate(swapped)) for a, b in numbers[0]] == numbers[1]


def test_a_title_says_which_property_which_range_which_end_and_which_other_variable(app: Any) -> None:
    curator = app.state.services.desk.find("survey-2023").curator
    tables = (
        (
            {"rows": ["sex"], "measure": "proportion", "of": "status", "among": ["unemployed"], "per": 100},
            "Proportion with Labour status unemployed (per 100) by Sex",
            "Anteil mit Erwerbsstatus arbeitslos (je 100) nach Geschlecht",
        ),
        (
            {"measure": "range_count", "of": "age", "among": {"at_least": 18, "at_most": 64}},
            "Number of records with Age 18 – 64",
            "Anzahl der Datensätze mit Alter 18 – 64",
        ),
        (
            {"rows": ["sex"], "measure": "best", "of": "hours", "which": "smallest"},
            "Category with the smallest total of Usual hours a week by Sex",
            "Kategorie mit der kleinsten Summe von Übliche Wochenstunden nach Geschlecht",
        ),
        (
            {"measure": "ratio", "of": "hours", "other": "age", "error": "noise"},
            "Ratio of Usual hours a week to Age",
            "Verhältnis von Übliche Wochenstunden zu Alter",
        ),
    )
    for table, own, said in tables:
        made = curator.release({"table": table, "privacy": {"definition": "pure", "epsilon": "0.01"}})
        assert heading(made, made.table) == own
        english, german = pages(app, f"/r/{made.provenance.ledger_entry}")
        assert own.replace(",", " ×") in english and said in german
        assert own.partition(" by ")[0] in TestClient(app).get("/tables").text
        if table["measure"] == "best":
            # A chosen category is no number: nothing is drawn of it.
            assert 'class="drawing"' not in english and "One category was chosen" in english


def test_the_preview_of_a_choice_says_how_far_it_may_fall_short(app: Any) -> None:
    text = pages(app, "/d/survey-2023/table?rows=education&measure=mode:")[0]
    assert "records less than the most frequent one" in text and "depends on the data and is withheld" not in text
