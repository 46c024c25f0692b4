"""Previews are for everybody: they read no data, tell nothing of the ledger, and are limited."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.server.api.conftest import POLICY, Site, document, error_code

PLAN = "/api/v1/datasets/towns/plan"
ASKED = [document(epsilon) for epsilon in ("0.01", "0.5", "3", "40")] + [
    {"table": {"rows": ["town"], "columns": ["work"]}, "privacy": {"definition": "zero_concentrated", "rho": "0.4"}},
    {
        "table": {"rows": ["sex"], "margins": "all", "universe": "complete"},
        "privacy": {"definition": "pure", "epsilon": "1"},
    },
]


def plans(site: Site, who: str) -> list[dict[str, Any]]:
    found = [site.call(who, "POST", PLAN, json=asked).json() for asked in ASKED]
    for plan in found:
        # Keyed by the site's own secret.
        plan.pop("digest", None)
    return found


def test_anybody_may_preview_and_no_data_are_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def trap(*_: object) -> None:
        raise AssertionError("data were touched")

    source = site.services.desk.find("towns").curator.source
    for name in ("table", "values", "scan", "fingerprint"):
        monkeypatch.setattr(source, name, trap)
    told = site.call("", "POST", PLAN, json=document("0.41"))
    assert told.status_code == 200
    own = site.call("ana", "POST", PLAN, json=document("0.41")).json()
    assert {k: v for k, v in told.json().items() if k != "quota"} == {k: v for k, v in own.items() if k != "quota"}
    assert told.json()["quota"] is None and told.json()["refusal"] is None
    assert site.call("aud", "POST", PLAN, json=document("0.41")).json()["quota"] is None
    assert site.release("", document("0.41")).status_code == 401


def test_previews_of_readers_who_did_not_sign_in_are_limited(make_site: Callable[..., Site]) -> None:
    site = make_site()
    limits = site.services.config.limits.model_copy(update={"previews_per_minute": 4})
    object.__setattr__(site.services.config, "limits", limits)
    answers = [site.call("", "POST", PLAN, json=document()) for _ in range(8)]
    assert [a.status_code for a in answers[:2]] == [200, 200]
    assert error_code(answers[-1]) == "too_many_requests" and "retry-after" in answers[-1].headers
    assert site.call("", "GET", "/api/v1/datasets").status_code == 200
    assert site.call("ana", "POST", PLAN, json=document()).status_code == 200


@pytest.mark.parametrize("who", ["", "ana", "aud"])
@pytest.mark.parametrize("has_quota", [True, False])
@pytest.mark.parametrize("is_public", [True, False])
def test_no_preview_depends_on_what_is_left_to_everybody(
    make_site: Callable[..., Site], who: str, has_quota: bool, is_public: bool
) -> None:
    policy = POLICY if has_quota else POLICY.partition("[default_quota]")[0]
    rich, poor = (
        make_site(name, policy=policy.replace("rho = 500", f"rho = {rho}"), rows=60)
        for name, rho in (("rich", "500"), ("poor", "0.05"))
    )
    for site in (rich, poor):
        domain = site.services.desk.find("towns").curator.domain
        object.__setattr__(domain, "is_public", is_public)
    assert plans(rich, who) == plans(poor, who)


def test_a_list_counts_every_record_unless_it_says_otherwise(make_site: Callable[..., Site]) -> None:
    site = make_site()
    asked = {"table": {"rows": ["town"], "columns": ["work"], "margins": "all"}, "privacy": {"epsilon": "1"}}
    assert site.call("ana", "POST", PLAN, json=asked).status_code == 200
    assert site.release("ana", asked).status_code in (200, 201, 202)
    said = {**asked, "table": {**asked["table"], "universe": "own"}}
    assert site.call("ana", "POST", PLAN, json=said).json()["already"] is not None


def test_a_preview_says_which_amount_an_accuracy_needs_and_for_which_cells(site: Site) -> None:
    asked = {"table": {"rows": ["town"], "measure": "mean", "of": "income"}, "privacy": {"error_at_most": 9}}
    plan = site.call("", "POST", PLAN, json=asked).json()
    assert plan["definition"] == "zero_concentrated"
    assert f"rho = {float(plan['budget']['rho']):g}" in plan["warnings"][0]
    assert "where cells have 1,000 records" in plan["warnings"][0]
