"""[show] of a request to the server shapes the answer; the release is stored as it was measured, and charged once."""

from typing import Any

from tests.server.api.conftest import Site, document, error_code


def shown(show: dict[str, Any]) -> dict[str, Any]:
    return {**document("0.07"), "show": show}


def values(response: Any) -> list[float]:
    numbers: list[float] = response.json()["tables"][0]["values"]
    return numbers


def test_an_answer_is_shown_as_asked_and_stored_as_measured(site: Site) -> None:
    spent = site.services.desk.ledger.reader.account("townspeople").spent.rho
    whole = site.release("ana", shown({"whole": True, "least": 0}))
    assert whole.status_code == 200, whole.text
    assert all(value == int(value) >= 0 for value in values(whole))
    names = [step["name"] for step in whole.json()["adjustments"]]
    assert "clamping" in names and "rounding" in names
    once = site.services.desk.ledger.reader.account("townspeople").spent.rho
    assert once > spent
    stored = site.call("ana", "GET", whole.headers["content-location"])
    assert stored.json()["adjustments"] == []
    assert whole.json()["blocks"] == stored.json()["blocks"]
    # Another way to show it, and the plain request, are the same release and cost nothing.
    most = site.release("ana", shown({"most": 1}))
    plain = site.release("ana", document("0.07"))
    assert max(values(most)) <= 1
    assert values(plain) == values(stored)
    assert most.headers["content-location"] == plain.headers["content-location"] == whole.headers["content-location"]
    assert site.services.desk.ledger.reader.account("townspeople").spent.rho == once


def test_what_cannot_be_shown_is_refused_before_anything_is_charged(site: Site) -> None:
    spent = site.services.desk.ledger.reader.account("townspeople").spent.rho
    for show, code in (
        ({"published": True}, "unsupported"),
        ({"anchor": "0" * 32}, "not_found"),
        ({"least": 2, "most": 1}, "bad_document"),
    ):
        refused = site.release("ana", {**document("0.08"), "show": show})
        assert refused.status_code in (400, 404, 422), refused.text
        assert error_code(refused) == code, refused.text
    assert site.services.desk.ledger.reader.account("townspeople").spent.rho == spent


def test_a_weaker_guarantee_is_offered_only_where_the_policy_opens_it(site: Site) -> None:
    offered = site.call("ana", "GET", "/api/v1/datasets/towns").json()["definitions"]
    assert "pure" in offered
    assert not {"individual", "bootstrap", "public_attributes"} & set(offered)
