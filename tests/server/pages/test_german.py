"""German pages: refusals by their code, decimal commas in forms, numbers as they are written there."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from tests.server.pages.test_pages import SITE, release, token, visitor

import dalenius.server.errors
from dalenius.errors import DaleniusError
from dalenius.server import messages
from dalenius.server.accounts import Role, User
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = create_app(ServerConfig.load(SITE.write_files(tmp_path_factory.mktemp("site"))))
    for name, role in SITE.ROLES.items():
        made.state.services.accounts.create(name, role, SITE.PASSWORDS[name])
    made.state.services.custody.register(User("carla", Role.CUSTODIAN), "commuters")
    with TestClient(made):
        yield made


def german(app: Any, name: str) -> TestClient:
    client = visitor(app, name)
    client.get("/language/de", params={"next": "/"})
    return client


def codes(kind: type[DaleniusError]) -> Iterator[str]:
    yield kind.code
    for below in kind.__subclasses__():
        yield from codes(below)


@pytest.mark.parametrize("language", [code for code in messages.languages() if code != messages.DEFAULT])
def test_every_code_of_a_refusal_has_a_sentence(language: str) -> None:
    assert dalenius.server.errors.NotReleased in dalenius.errors.BudgetError.__subclasses__()
    missing = set(codes(DaleniusError)) - set(messages.refusals(language))
    assert missing == set(), "a new code needs its sentence in messages/refusals"


def test_a_refusal_is_german_with_the_english_text_as_detail(app: Any) -> None:
    anna = german(app, "anna")
    page = anna.get("/d/commuters/table?rows=mode&definition=pure&epsilon=90").text
    assert "Das Kontingent reicht für diese Anfrage nicht" in page
    assert re.search(r'lang="en">The quota of .{1,10}anna.{1,10} does not cover', page)
    wrong = anna.get("/d/commuters/table?rows=mode&definition=pure&epsilon=abc").text
    assert re.search(r'role="alert">\s*<p>(Die Anfrage|Eine Zahl)', wrong)
    gone = anna.get("/r/0123456789")
    assert gone.status_code == 404 and "Hier ist nichts, oder nichts, wovon Sie wissen dürfen" in gone.text
    assert anna.get("/custodian/users").text.count("Das ist für Ihr Konto nicht offen") == 1
    english = visitor(app, "anna").get("/d/commuters/table?rows=mode&definition=pure&epsilon=90").text
    assert "Kontingent" not in english and "does not cover this request" in english


def test_a_decimal_comma_is_read_and_shown(app: Any) -> None:
    anna = german(app, "anna")
    typed = {
        "rows": "mode",
        "columns": "minutes",
        "definition": "pure",
        "epsilon": "0,25",
        "cuts.minutes": "0; 30; 120",
        "from.minutes": "1.000",
        "written": "de",
    }
    answer = anna.get("/d/commuters/table", params=typed)
    assert answer.status_code == 303
    read = {key: values[0] for key, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
    assert read["epsilon"] == "0.25" and read["cuts.minutes"] == "0,30,120"
    assert read["from.minutes"] == "1000" and "written" not in read
    page = anna.get(answer.headers["location"].replace("from.minutes=1000&", "")).text
    assert re.search(r'id="epsilon" name="epsilon" value="0,25"', page)
    assert re.search(r'name="cuts.minutes" value="0; 30; 120"', page)
    assert "Werte unter der ersten Grenze und ab der letzten Grenze weglassen" in page
    assert "ε = 0,25" in page and "ρ = 0,03109" in page
    english = visitor(app, "anna").get("/d/commuters/table?rows=mode&definition=pure&epsilon=0.25").text
    assert 'value="0.25"' in english


def test_an_english_comma_is_not_taken_for_a_decimal_one(app: Any) -> None:
    anna = visitor(app, "anna")
    typed = {"rows": "mode", "definition": "pure", "epsilon": "1,000", "written": "en"}
    shown = anna.get("/d/commuters/table", params=typed, follow_redirects=True).text
    assert 'role="alert"' in shown and 'value="1,000"' in shown


def test_the_custodian_types_a_decimal_comma(app: Any) -> None:
    carla = german(app, "carla")
    csrf = token(carla, "/account")
    form = {"csrf": csrf, "analyst": "nina", "rho": "0,125", "delta": "1,5e-7"}
    answer = carla.post("/custodian/budget/ridgeford/quota", data=form)
    assert answer.status_code == 303, answer.text
    assert "Das Kontingent von nina ist jetzt ρ = 0,125." in carla.get("/custodian/budget/ridgeford").text
    quota = app.state.services.releasing.quota(app.state.services.accounts.find("nina"), "commuters")
    assert quota.limit["rho"] == "0.125" and float(quota.limit["delta"]) == 1.5e-7


@pytest.mark.parametrize(
    ("speak", "words", "specialists"),
    [
        (visitor, "whether one record is in the data guesses right in at most", "For specialists"),
        (german, "ob eine Einheit (Datensatz) in den Daten ist, rät mit dieser Veröffentlichung", "Für Fachleute"),
    ],
    ids=["en", "de"],
)
def test_pages_open_a_guarantee_in_plain_words(app: Any, speak: Any, words: str, specialists: str) -> None:
    anna = speak(app, "anna")
    fields = {"rows": "mode", "definition": "zero_concentrated", "rho": "0.001"}
    assert words in anna.get("/d/commuters/table", params=fields).text
    place = release(anna, **fields, epsilon="")
    for page in (place, f"{place.split('?')[0]}/cite"):
        text = anna.get(page).text
        assert 0 < text.index(words) < text.index(specialists)
