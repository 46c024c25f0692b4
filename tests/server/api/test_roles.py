"""Who may do what: anonymous, analyst, custodian, auditor; nobody reaches what is another's."""

import pytest
from tests.server.api.conftest import Site, document, error_code

EVERYBODY = ("", "ana", "cus", "aud")
PLAN = ("POST", "/api/v1/datasets/towns/plan", document())
RELEASE = ("POST", "/api/v1/datasets/towns/releases", document())
AMOUNTS = {"rho": "1", "delta": "0"}
RULES = [
    (("GET", "/api/v1/datasets", None), EVERYBODY),
    (("GET", "/api/v1/datasets/towns", None), EVERYBODY),
    (("GET", "/api/v1/releases", None), EVERYBODY),
    (("GET", "/pxweb/api/v2/tables", None), EVERYBODY),
    (PLAN, EVERYBODY),
    (RELEASE, ("ana", "cus")),
    (("GET", "/api/v1/jobs", None), ("ana", "cus")),
    (("GET", "/api/v1/datasets/towns/quota", None), ("ana", "cus")),
    (("GET", "/api/v1/ledger/statements/townspeople", None), ("ana", "cus", "aud")),
    (("GET", "/api/v1/ledger/statements/townspeople?everybody=true", None), ("cus", "aud")),
    (("GET", "/api/v1/ledger/export", None), ("cus", "aud")),
    (("GET", "/api/v1/ledger/verify", None), ("cus", "aud")),
    (("GET", "/metrics", None), ("cus", "aud")),
    (("POST", "/api/v1/populations/townspeople/grants", AMOUNTS), ("cus",)),
    (("PUT", "/api/v1/populations/townspeople/quotas/ben", AMOUNTS), ("cus",)),
    (("PUT", "/api/v1/populations/townspeople/approval", {"above": None}), ("cus",)),
    (("GET", "/api/v1/approvals", None), ("cus",)),
    (("GET", "/api/v1/users", None), ("cus",)),
    (("POST", "/api/v1/users", {"name": "eve", "role": "analyst"}), ("cus",)),
    (("DELETE", "/api/v1/users/eve", None), ("cus",)),
]


@pytest.mark.parametrize(("call", "allowed"), RULES, ids=[f"{c[0]} {c[1]}" for c, _ in RULES])
def test_every_address_serves_its_roles_alone(
    site: Site, call: tuple[str, str, object], allowed: tuple[str, ...]
) -> None:
    method, path, body = call
    for who in EVERYBODY:
        response = site.call(who, method, path, json=body)
        if who in allowed:
            assert response.status_code < 300, (who, response.text)
        else:
            assert response.status_code == (403 if who else 401), (who, response.text)
            assert error_code(response) == ("forbidden" if who else "not_signed_in")


def test_anonymous_never_touches_data(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    made = site.release("ana", document("0.31"))
    entry = made.headers["content-location"].rpartition("/")[2]

    def trap(*_: object) -> None:
        raise AssertionError("data were touched")

    source = site.services.desk.find("towns").curator.source
    for name in ("table", "values", "scan", "fingerprint"):
        monkeypatch.setattr(source, name, trap)
    for path in (
        f"/api/v1/releases/{entry}",
        f"/api/v1/releases/{entry}?format=csv",
        f"/api/v1/releases/{entry}?format=html",
        f"/pxweb/api/v2/tables/{entry}/data",
        "/api/v1/datasets",
    ):
        assert site.call("", "GET", path).status_code == 200
    asked = site.call("", "POST", f"/api/v1/releases/{entry}/inference", json={"method": "interval"})
    assert asked.status_code == 200
    assert site.release("", document("0.32")).status_code == 401


def test_jobs_saved_tables_and_tokens_are_their_owners(site: Site) -> None:
    job = site.release("ana", document("0.33"), params={"wait": 0}).json()
    if "id" not in job:
        job = site.call("ana", "GET", "/api/v1/jobs").json()[0]
    assert site.call("ben", "GET", f"/api/v1/jobs/{job['id']}").status_code == 404
    assert site.call("cus", "GET", f"/api/v1/jobs/{job['id']}").status_code == 200
    body = {"dataset": "towns", "request": document()}
    assert site.call("ana", "PUT", "/api/v1/saved/mine", json=body).status_code == 204
    assert site.call("ben", "GET", "/api/v1/saved").json() == []
    site.call("ben", "DELETE", "/api/v1/saved/mine")
    assert [s["title"] for s in site.call("ana", "GET", "/api/v1/saved").json()] == ["mine"]
    token = site.call("ana", "GET", "/api/v1/tokens").json()[0]
    assert "secret" not in token
    site.call("ben", "DELETE", f"/api/v1/tokens/{token['id']}")
    assert site.call("ana", "GET", "/api/v1/me").json()["name"] == "ana"


def test_an_analyst_sees_the_own_quota_and_nobody_elses(site: Site) -> None:
    site.release("ana", document("0.33"))
    site.release("ben", document("0.34"))
    quota = site.call("ana", "GET", "/api/v1/datasets/towns/quota").json()
    assert quota["analyst"] == "ana" and quota["limit"]["rho"] == "100"
    statement = site.call("ana", "GET", "/api/v1/ledger/statements/townspeople").json()
    assert {line["by"] for line in statement["lines"]} <= {"ana"}
    assert {balance["name"] for balance in statement["balances"]} == {"ana"}
    listed = site.call("ana", "GET", "/api/v1/releases").json()["releases"]
    assert {r["analyst"] for r in listed} <= {"", "ana"}
    assert {r["analyst"] for r in site.call("", "GET", "/api/v1/releases").json()["releases"]} == {""}
    everybody = site.call("aud", "GET", "/api/v1/releases").json()["releases"]
    assert {"ana", "ben"} <= {r["analyst"] for r in everybody}
