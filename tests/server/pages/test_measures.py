"""Measures with keys of their own in the builder: offered where they suit the data, previewed in words, and released."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.server.pages.test_pages import SITE, served, token, visitor

PURE = {"definition": "pure", "epsilon": "0.2"}
WITH_DELTA = {"definition": "approximate", "epsilon": "0.5", "delta": "1e-7"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Commuters as persons with two rows at most, whose texts may be found and whose minutes may weigh them."""
    place: Path = SITE.write_files(tmp_path_factory.mktemp("measures"))
    document, policy = place.parent / "dataset.toml", place.parent / "policy.toml"
    SITE.as_persons(place)
    text = document.read_text().replace(
        'label = "Age group"', 'label = "Age group"\nunlisted = true\nunseen = "65 and over"'
    )
    document.write_text(text.replace("\nstep = 1\n", "\nstep = 1\nmissing = 0\nweight = true\n"))
    policy.write_text(policy.read_text() + '\n[allow]\nacknowledge = ["fixed_weights"]\n')
    with served(place) as made:
        yield made


def shown(app: Any, **fields: Any) -> str:
    client = visitor(app, "anna")
    answer = client.get(f"/d/commuters/table?{urlencode(fields, doseq=True)}", follow_redirects=True)
    assert answer.status_code == 200
    return str(answer.text)


def test_the_menu_has_what_suits_the_data(app: Any) -> None:
    page = shown(app)
    for value in (
        "persons",
        "labels",
        "clipped_count",
        "clipped_total:minutes",
        "range_count:minutes",
        "sample_and_aggregate:minutes",
        "propose_test_release:minutes",
    ):
        assert f'<option value="{value}"' in page
    assert 'id="weight"' in page


ASKED: dict[str, tuple[dict[str, Any], str, str]] = {
    "persons": ({"rows": "mode", "measure": "persons"} | PURE, "Expect each number to be off", "Number of persons"),
    "labels": (
        {"rows": "age", "measure": "labels"} | WITH_DELTA,
        "Texts that enough units have",
        "text that is not declared",
    ),
    "clipped_count": (
        {"rows": "mode", "measure": "clipped_count"} | PURE,
        "Expect each number to be off by at most ± 15.0 (95 %), beside what is clipped.",
        "Number of records, clipped for each person",
    ),
    "clipped_total": (
        {"rows": "mode", "measure": "clipped_total:minutes", "key.clip": "60"} | PURE,
        "Expect each total to be off",
        "Total of Minutes on the way, clipped for each person",
    ),
    "learned clip": (
        {"rows": "mode", "measure": "clipped_total:minutes", "key.clip": "20; 60; 120", "key.learn": "0.2"} | PURE,
        "beside what is clipped",
        "Total of Minutes on the way, clipped for each person",
    ),
    "range_count": (
        {"measure": "range_count:minutes", "key.among.from": "30"} | PURE,
        "Expect the number to be off",
        "30",
    ),
    "sample_and_aggregate": (
        {"measure": "sample_and_aggregate:minutes"} | PURE,
        "From 40 blocks of the records",
        "by sample and aggregate",
    ),
    "weight": ({"rows": "mode", "weight": "minutes"} | PURE, "±", "Number of"),
}


@pytest.mark.parametrize("name", ASKED)
def test_each_is_previewed_and_released(app: Any, name: str) -> None:
    fields, sentence, title = ASKED[name]
    page = shown(app, **fields)
    assert sentence in page and title in page
    digest = re.search(r'name="seen" value="([0-9a-f]{32})"', page)
    assert digest is not None
    client = visitor(app, "anna")
    form = {"csrf": token(client, "/account"), **fields, "seen": digest[1]}
    answer = client.post("/d/commuters/release", data=form)
    assert answer.status_code == 303 and answer.headers["location"].startswith("/r/"), answer.text
    place = answer.headers["location"].split("?")[0]
    seen = client.get(place).text
    assert title in seen
    # The page gives its first table the title and the caption that the file for readers has.
    head = r"<caption>(.*?)</caption>"
    assert re.findall(head, seen)[0] == re.findall(head, client.get(f"{place}.html").text)[0]
    assert client.get(f"{place}.xlsx").content[:2] == b"PK"
    described = client.get(f"{place}.csv").headers["link"]
    assert re.match(rf"<{place}\.csvw[^>]*>; rel=\"describedby\"", described)
    first = html.unescape(re.findall(head, seen)[0].split("<span")[0])
    assert client.get(f"{place}.csvw").json()["schema:hasPart"][0]["schema:name"] == first
    assert first in html.unescape(client.get(f"{place}/cite").text)


def test_a_test_before_an_answer_needs_one_row_and_says_so(app: Any) -> None:
    page = shown(app, measure="propose_test_release:minutes", **WITH_DELTA, **{"key.bounds": "2; 5 10"})
    assert "one row to a unit" in page and 'name="key.bounds" value="2; 5; 10"' in page


def test_a_range_of_a_parameter_is_two_fields_and_predictors_are_boxes(app: Any) -> None:
    page = shown(app, measure="sample_and_aggregate:minutes", **PURE)
    assert page.count('name="key.clip"') == 2 and 'value="120"' in page
    german = visitor(app, "anna").get(
        f"/d/commuters/table?{urlencode({'measure': 'sample_and_aggregate:minutes', **PURE})}",
        headers={"accept-language": "de"},
        follow_redirects=True,
    )
    assert "Der Parameter liegt zwischen" in german.text and "Mischung zweier Normalverteilungen" in german.text


def test_a_bound_of_what_a_person_adds_is_a_field_and_lies_on_what_was_declared(app: Any) -> None:
    page = shown(app, rows="mode", measure="clipped_total:minutes", **PURE)
    assert re.search(r'id="key-clip" name="key.clip" value="120"', page)
    assert "is scaled down to 120 in the l1 norm" in page
    fields = {"rows": "mode", "measure": "clipped_count", "key.clip": "1,5", "key.norm": "l2", **PURE}
    german = visitor(app, "anna")
    german.get("/language/de", params={"next": "/"})
    page = german.get("/d/commuters/table", params={**fields, "written": "de"}, follow_redirects=True).text
    assert 'id="key-clip" name="key.clip" value="1,5"' in page and "Höchstens Datensätze je Person" in page
    assert re.search(r"Jede Anzahl weicht voraussichtlich um höchstens ± [\d,]+ ab \(95.%\), neben dem Gekappten", page)
    assert "wird auf 1.5 in der l2-Norm verkleinert" in page


def test_several_bounds_need_the_share_that_chooses_one(app: Any) -> None:
    fields = {"rows": "mode", "measure": "clipped_count", "key.clip": "1; 2", **PURE}
    assert "Of a list of bounds one must be chosen" in shown(app, **fields)
    assert "the smallest listed bound" in shown(app, **fields | {"key.learn": "0.25"})


def test_without_several_rows_of_a_person_nothing_is_clipped(tmp_path: Path) -> None:
    """Where rows are units, and where a person has one row."""
    for unit in ("", '\nid = "person"\nname = "person"'):
        folder = tmp_path / f"of {len(unit)}"
        folder.mkdir()
        place = SITE.write_files(folder)
        if unit:
            SITE.as_persons(place)
            document = place.parent / "dataset.toml"
            document.write_text(document.read_text().replace("\nmax_rows = 2", ""))
        with served(place) as made:
            assert "clipped_" not in shown(made)
