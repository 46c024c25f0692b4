"""Measures with keys of their own in the builder: offered where they suit the data, previewed in words, and released."""

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
    text = document.read_text().replace(
        'relation = "add-remove"', 'relation = "add-remove"\nid = "person"\nname = "person"\nmax_rows = 2'
    )
    text = text.replace('label = "Age group"', 'label = "Age group"\nunlisted = true\nunseen = "65 and over"')
    document.write_text(text.replace("\nstep = 1\n", "\nstep = 1\nmissing = 0\n"))
    policy.write_text(policy.read_text() + '\n[allow]\nacknowledge = ["fixed_weights"]\n')
    rows = (place.parent / "commuters.csv").read_text().splitlines()
    numbered = [f"person,{rows[0]}", *(f"{number // 2},{row}" for number, row in enumerate(rows[1:]))]
    (place.parent / "commuters.csv").write_text("\n".join(numbered) + "\n")
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
        "range_count:minutes",
        "sample_and_aggregate:minutes",
        "propose_test_release:minutes",
    ):
        assert f'<option value="{value}"' in page
    assert 'id="weight"' in page


ASKED: dict[str, tuple[dict[str, Any], str, str]] = {
    "persons": (
        {"rows": "mode", "measure": "persons"} | PURE,
        "Expect each number to be off",
        "Number of persons",
    ),
    "labels": (
        {"rows": "age", "measure": "labels"} | WITH_DELTA,
        "Texts that enough units have",
        "text that is not declared",
    ),
    "range_count": (
        {"measure": "range_count:minutes", "key.at_least": "30"} | PURE,
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
    assert title in client.get(answer.headers["location"]).text


def test_a_test_before_an_answer_needs_one_row_and_says_so(app: Any) -> None:
    assert "one row to a unit" in shown(app, measure="propose_test_release:minutes", **WITH_DELTA)


def test_a_range_of_a_parameter_is_two_fields_and_predictors_are_boxes(app: Any) -> None:
    page = shown(app, measure="sample_and_aggregate:minutes", **PURE)
    assert page.count('name="key.range"') == 2 and 'value="120"' in page
    german = visitor(app, "anna").get(
        f"/d/commuters/table?{urlencode({'measure': 'sample_and_aggregate:minutes', **PURE})}",
        headers={"accept-language": "de"},
        follow_redirects=True,
    )
    assert (
        "Der Parameter liegt zwischen" in german.text and "Mischung zweier Normalverteilungen" in german.text
    )
