"""Released tables are found by what they say: labels of variables, categories, conditions, in any language."""

from collections.abc import Callable

import pytest
from tests.server.api.conftest import POLICY, Site

from dalenius.server import presentation


def asked(**table: object) -> dict[str, object]:
    return {"table": table, "privacy": {"definition": "pure", "epsilon": "0.3"}}


def found(site: Site, who: str, query: str) -> int:
    return int(site.call(who, "GET", "/api/v1/releases", params={"query": query}).json()["total"])


def test_tables_are_found_by_their_labels(make_site: Callable[..., Site]) -> None:
    site = make_site(rows=200)
    assert site.release("ana", asked(rows=["work"], where={"town": ["Cedar"]})).status_code == 200
    assert site.release("ana", asked(rows=["sex"], measure="total", of="income")).status_code == 200
    grouped = {"variable": "town", "groups": {"seaside": ["Bro"], "else": ["Aby"]}}
    assert site.release("ana", asked(rows=[grouped])).status_code == 200
    for words, count in (
        ("Work, in words", 1),
        ("FARM forest", 1),
        ("cedar", 1),
        ("summe income", 1),
        ("total", 1),
        ("seaside", 1),
        ("female", 1),
        ("three towns", 3),
        ("anzahl", 2),
        ("cedar female", 0),
        ("nowhere", 0),
    ):
        assert found(site, "", words) == count, words


def test_a_search_finds_nothing_that_the_reader_may_not_see(make_site: Callable[..., Site]) -> None:
    site = make_site(rows=200, policy='release = "embargoed"\n' + POLICY)
    entry = site.release("ana", asked(rows=["work"])).headers["content-location"].rpartition("/")[2]
    # The owner's search comes first, so that whatever is remembered was made for them.
    assert [found(site, who, "forest") for who in ("ana", "ben", "", "cus")] == [1, 0, 0, 1]
    site.call("cus", "POST", f"/api/v1/releases/{entry}/status", json={"status": "published"})
    assert [found(site, who, "forest") for who in ("ana", "ben", "", "cus")] == [1, 1, 1, 1]
    site.call("cus", "POST", f"/api/v1/releases/{entry}/status", json={"status": "withdrawn"})
    assert [found(site, who, "forest") for who in ("ana", "ben", "", "cus")] == [0, 0, 0, 1]


def test_a_declaration_is_put_into_words_once(make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site(rows=60)
    made: list[str] = []
    view = presentation.dataset_view

    def counted(served: object, most: int) -> object:
        made.append("made")
        return view(served, most)  # type: ignore[arg-type]

    monkeypatch.setattr(presentation, "dataset_view", counted)
    for who in ("ana", "", "cus", "ana"):
        assert site.call(who, "GET", "/api/v1/datasets").json()[0]["name"] == "towns"
        site.call(who, "GET", "/api/v1/releases", params={"query": "town"})
    assert made == ["made"]
