"""The custodian's rules on a running site: an analyst meets them on every route, before anything is charged."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.server.api.conftest import POLICY, Site, error_code

CAP = POLICY + "[table]\nvariance_cap = 9\n"
TRUNCATED = POLICY + "[table]\ntruncation = 30\n"
THRESHOLD = POLICY + "[table]\nthreshold = 5\n"
ROUTES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({"rows": ["town"]}, {}),
    "strategy": ({"rows": ["town"], "columns": ["sex"]}, {"strategy": "interior"}),
    "margins": ({"rows": ["town"], "columns": ["sex"], "margins": "all", "universe": "complete"}, {}),
    "total": ({"rows": ["town"], "measure": "total", "of": "income"}, {}),
    "mean": ({"rows": ["town"], "measure": "mean", "of": "income"}, {}),
    "median": ({"rows": ["town"], "measure": "median", "of": "income"}, {}),
}


def asked(route: str, epsilon: str = "0.1") -> dict[str, Any]:
    table, named = ROUTES[route]
    return {"table": table, "privacy": {"definition": "pure", "epsilon": epsilon, **named}}


def spent(site: Site) -> str:
    return str(site.call("ana", "GET", "/api/v1/datasets/towns/quota").json()["spent"]["rho"])


@pytest.mark.parametrize("policy", [CAP, TRUNCATED], ids=["variance_cap", "truncation"])
def test_an_analyst_cannot_walk_around_a_rule_on_noise(make_site: Callable[..., Site], policy: str) -> None:
    site = make_site(policy=policy, rows=60)
    before = spent(site)
    for route in ROUTES:
        answer = site.release("ana", asked(route))
        # Truncated noise is never pure, so that a plain pure table has another refusal.
        is_impure = policy is TRUNCATED and route == "plain"
        assert error_code(answer) == ("unsupported" if is_impure else "not_allowed"), (route, answer.text)
        preview = site.call("ana", "POST", "/api/v1/datasets/towns/plan", json=asked(route))
        assert preview.status_code in (400, 403) or preview.json()["refusal"] is not None, route
    assert spent(site) == before


def test_an_analyst_cannot_walk_around_a_rule_on_counts(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=THRESHOLD, rows=60)
    for route in ("total", "mean", "median"):
        assert error_code(site.release("ana", asked(route))) == "not_allowed"
    for route in ("plain", "strategy", "margins"):
        tables = site.release("ana", asked(route, "2")).json()["tables"]
        assert not [v for table in tables for v in table["values"] if 0 < v < 5]


def test_a_plan_within_the_cap_is_released(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=CAP, rows=60)
    assert site.release("ana", asked("plain", "2")).status_code == 200
    assert site.release("ana", asked("margins", "8")).status_code == 200


def test_an_analyst_is_told_that_a_weight_is_not_used(make_site: Callable[..., Site]) -> None:
    site = make_site(rows=60)
    document = asked("total")
    document["table"] = {**document["table"], "measure": "maximum", "weight": "income"}
    answer = site.release("ana", document)
    assert answer.status_code == 400 and error_code(answer) == "unsupported"
