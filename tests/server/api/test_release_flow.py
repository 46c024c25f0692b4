"""From plan to released table: charged once, answered from the ledger, approved, embargoed, withdrawn."""

import csv
import io
import json
import time
import tomllib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from tests.server.api.conftest import POLICY, Site, assert_no_canary, document, error_code

from dalenius.core.query import TableQuery
from dalenius.publish.to_json import from_json
from dalenius.server import operations
from dalenius.spec.load import load_request


def entry_of(response: Any) -> str:
    return str(response.headers["content-location"].rpartition("/")[2])


def spent(site: Site, who: str) -> str:
    return str(site.call(who, "GET", "/api/v1/datasets/towns/quota").json()["spent"]["rho"])


def test_plan_costs_nothing_and_says_what_a_release_will_do(site: Site) -> None:
    before = spent(site, "ana")
    plan = site.call("ana", "POST", "/api/v1/datasets/towns/plan", json=document("0.2", ["town", "sex"])).json()
    assert plan["cells"] == 6 and plan["cost"]["epsilon"] == "0.2" and plan["refusal"] is None
    assert 6.9 < plan["std_error"] < 7.1
    assert spent(site, "ana") == before
    site.release("ana", document("0.2", ["town", "sex"]))
    again = site.call("ana", "POST", "/api/v1/datasets/towns/plan", json=document("0.2", ["sex", "town"])).json()
    assert again["already"]["status"] == "published"


def test_the_same_request_is_charged_once_for_everybody(site: Site) -> None:
    first = site.release("ana", document("0.21", ["town", "age"]))
    assert first.status_code == 200, first.text
    before = spent(site, "ana"), spent(site, "ben")
    toml = '[table]\nrows = ["age"]\ncolumns = ["town"]\n[privacy]\ndefinition = "pure"\nepsilon = 0.210\n'
    second = site.call(
        "ben", "POST", "/api/v1/datasets/towns/releases", content=toml, headers={"Content-Type": "application/toml"}
    )
    assert entry_of(first) == entry_of(second)
    assert json.loads(first.content) == json.loads(second.content)
    assert (spent(site, "ana"), spent(site, "ben")) == before


BATCH = """
[[table]]
title = "Towns"
rows = ["town"]

[[table]]
title = "Women by age"
rows = ["age"]
where = { sex = ["female"] }
share = 3

[privacy]
definition = "pure"
epsilon = 0.2345
"""


def test_a_batch_is_planned_released_and_charged_as_one(site: Site) -> None:
    toml = {"Content-Type": "application/toml"}
    path = "/api/v1/datasets/towns"
    assert site.call("", "POST", f"{path}/plan", content=BATCH, headers=toml).status_code == 401
    plan = site.call("ana", "POST", f"{path}/plan", content=BATCH, headers=toml).json()
    assert plan["cost"]["epsilon"] == "0.2345" and len(plan["details"]["tables"]) == 2, plan
    before = Fraction(spent(site, "ana"))
    made = site.call("ana", "POST", f"{path}/releases", content=BATCH, headers=toml)
    assert made.status_code == 200, made.text
    release = from_json(made.content)
    assert [member.about.title for member in release.members] == ["Towns", "Women by age"]
    rates = [Fraction(member.law.to_dict()["parameters"]["rate"]) for member in release.members]
    assert rates == [Fraction("0.2345") / 4, 3 * Fraction("0.2345") / 4]
    charged = Fraction(spent(site, "ana")) - before
    assert 0 <= charged - Fraction(plan["cost"]["rho"]) < Fraction(1, 10**12)
    asked = f"/api/v1/releases/{entry_of(made)}/inference"
    second = site.call("ana", "POST", f"{asked}?member=2", json={"method": "interval"}).json()["result"]
    assert "65+" in json.dumps(second) and "Aby" not in json.dumps(second)
    assert site.call("ana", "POST", f"{asked}?member=3", json={"method": "interval"}).status_code == 404
    # In the other order it is the same batch, free for everybody.
    document = tomllib.loads(BATCH)
    document["table"].reverse()
    again = site.call("ben", "POST", f"{path}/releases", json=document)
    assert entry_of(again) == entry_of(made)
    assert site.call("ben", "POST", f"{path}/plan", json=document).json()["already"]["entry"] == entry_of(made)
    jobs = site.call("ana", "GET", "/api/v1/jobs").json()
    assert any(isinstance(job["request"]["table"], list) for job in jobs)


def test_a_batch_that_breaks_a_rule_is_refused_by_its_table_before_anything_is_queued(site: Site) -> None:
    path, before = "/api/v1/datasets/towns/releases", spent(site, "ana")
    wrong = {"rows": ["age"], "measure": "quantile", "of": "income", "q": 3}
    document = {"table": [{"rows": ["town"]}, wrong], "privacy": {"definition": "pure", "epsilon": "0.1"}}
    refused = site.call("ana", "POST", path, json=document)
    assert refused.status_code == 400 and "Table 2" in refused.json()["error"]["message"], refused.text
    assert spent(site, "ana") == before


def test_the_preview_of_a_batch_takes_a_bounded_amount_of_arithmetic(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = {
        "table": [{"rows": [name]} for name in ("town", "sex", "age", "work")],
        "privacy": {"definition": "approximate", "epsilon": "0.1", "delta": "1e-7"},
    }
    path = "/api/v1/datasets/towns/plan"
    assert site.call("ana", "POST", path, json=document).status_code == 200
    monkeypatch.setattr(operations, "_BATCH_ATOMS", 10)
    refused = site.call("ana", "POST", path, json=document)
    assert (refused.status_code, error_code(refused)) == (400, "too_large")


def test_downloads_by_content_type_agree(site: Site) -> None:
    made = site.release("ana", document("0.22", ["town", "work"]))
    path = f"/api/v1/releases/{entry_of(made)}"
    as_json = site.call("", "GET", path, headers={"Accept": "application/json"})
    as_csv = site.call("", "GET", path, headers={"Accept": "text/csv;q=1, application/json;q=0.1"})
    as_html = site.call("", "GET", path, headers={"Accept": "text/html"})
    rows = list(csv.DictReader(io.StringIO(as_csv.text)))
    assert [int(r["value"]) for r in rows] == as_json.json()["tables"][0]["values"]
    assert rows[1]["work"] == "'=office"
    assert as_html.headers["content-type"].startswith("text/html")
    assert as_html.headers["content-disposition"].startswith("attachment")
    assert site.call("", "GET", path, headers={"Accept": "image/png"}).status_code == 406
    assert site.call("", "GET", path, params={"format": "../json"}).status_code == 406
    tagged = site.call("", "GET", path, headers={"If-None-Match": as_json.headers["etag"]})
    assert tagged.status_code == 304 and not tagged.content
    assert_no_canary(as_json.text, as_csv.text, as_html.text)


def test_bootstrap_errors_are_planned_charged_and_sent(site: Site) -> None:
    """The charge is the rho of the loss distribution, and the file has both errors."""
    request = {
        "table": {
            "rows": ["town"],
            "measure": "proportion",
            "of": "sex",
            "among": ["female"],
            "error": "bootstrap",
            "replicates": 5,
        },
        "privacy": {"definition": "approximate", "epsilon": "1/2", "delta": "1/10000000"},
    }
    plan = site.call("ana", "POST", "/api/v1/datasets/towns/plan", json=request).json()
    assert plan["refusal"] is None and float(plan["cost"]["rho"]) < 0.02
    assert any("bootstrap interval" in note for note in plan["warnings"]), plan["warnings"]
    made = site.release("ana", request)
    sent = site.call("", "GET", f"/api/v1/releases/{entry_of(made)}", headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(sent.text)))
    both = [row for row in rows if row["lower_with_sampling"]]
    assert len(both) == 3
    for row in both:
        assert float(row["lower_with_sampling"]) <= float(row["upper_with_sampling"])
    assert_no_canary(made.text, sent.text)


def test_idempotency_keys(site: Site) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = site.release("ana", document("0.23"), headers=headers)
    replay = site.release("ana", document("0.23"), headers=headers)
    assert entry_of(first) == entry_of(replay)
    jobs = [j for j in site.call("ana", "GET", "/api/v1/jobs").json() if j["entry"] == entry_of(first)]
    assert len(jobs) == 1
    other = site.release("ana", document("0.24"), headers=headers)
    assert other.status_code == 409 and error_code(other) == "conflict"
    of_another_user = site.release("ben", document("0.24"), headers=headers)
    assert of_another_user.status_code == 200


def test_a_queued_release_shows_stages_and_then_its_address(site: Site) -> None:
    accepted = site.release("ana", document("0.25"), params={"wait": 0})
    assert accepted.status_code == 202
    address = accepted.headers["location"]
    seen = set()
    for _ in range(300):
        job = site.call("ana", "GET", address).json()
        seen.add((job["state"], job["stage"]))
        if job["state"] == "done":
            break
        time.sleep(0.01)
    assert job["release"].startswith("/api/v1/releases/")
    stages = {"", "waiting", "planning", "charging the ledger", "drawing noise", "measuring", "storing"}
    assert {stage for _, stage in seen} <= stages
    assert site.call("", "GET", job["release"]).status_code == 200


def test_quota_refusal_tells_what_is_left_and_spends_nothing(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=POLICY.replace("rho = 100", "rho = 0.2"))
    assert site.release("ana", document("0.5")).status_code == 200
    before = spent(site, "ana")
    refused = site.release("ana", document("0.6"))
    assert refused.status_code == 403 and error_code(refused) == "quota_exhausted"
    assert refused.json()["error"]["detail"]["quota"]["left"]["rho"].startswith("0.0")
    assert spent(site, "ana") == before
    plan = site.call("ana", "POST", "/api/v1/datasets/towns/plan", json=document("0.6")).json()
    assert plan["refusal"]["error"]["code"] == "quota_exhausted"
    assert site.release("ben", document("0.6")).status_code == 200
    site.call("cus", "PUT", "/api/v1/populations/townspeople/quotas/ana", json={"rho": "1", "delta": "0"})
    assert site.release("ana", document("0.61")).status_code == 200


def test_population_refusal_does_not_tell_everybodys_remainder(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=POLICY.replace("rho = 500", "rho = 0.2"))
    assert site.release("ana", document("0.5")).status_code == 200
    refused = site.release("ben", document("0.6"))
    assert error_code(refused) == "not_released"
    assert "left" not in refused.text and "limit" not in refused.text


def test_large_costs_wait_for_a_second_person(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=POLICY.replace("[budget]", "approval_above = 0.2\n[budget]"))
    waiting = site.release("cus", document("1"))
    assert waiting.status_code == 202 and waiting.json()["state"] == "awaiting approval"
    job = waiting.json()["id"]
    assert spent(site, "cus") == "0"
    own = site.call("cus", "POST", f"/api/v1/approvals/{job}", json={"approve": True})
    assert own.status_code == 403
    assert [j["id"] for j in site.call("dan", "GET", "/api/v1/approvals").json()] == [job]
    assert site.call("dan", "POST", f"/api/v1/approvals/{job}", json={"approve": True}).status_code == 204
    assert _finished(site, "cus", job)["state"] == "done"
    assert site.call("dan", "POST", f"/api/v1/approvals/{job}", json={"approve": True}).status_code == 409
    refused = site.release("ana", document("1.1")).json()["id"]
    site.call("cus", "POST", f"/api/v1/approvals/{refused}", json={"approve": False, "reason": "too dear"})
    ended = _finished(site, "ana", refused)
    assert ended["state"] == "failed" and "too dear" in ended["error"]["error"]["message"]
    assert spent(site, "ana") == "0"


def _finished(site: Site, who: str, job: str) -> dict[str, Any]:
    for _ in range(500):
        view: dict[str, Any] = site.call(who, "GET", f"/api/v1/jobs/{job}").json()
        if view["state"] in ("done", "failed"):
            return view
        time.sleep(0.01)
    raise AssertionError(view)


def test_embargo_publication_and_withdrawal(make_site: Callable[..., Site]) -> None:
    site = make_site(policy='release = "embargoed"\n' + POLICY)
    entry = entry_of(site.release("ana", document()))
    path = f"/api/v1/releases/{entry}"
    seen = {who: site.call(who, "GET", path).status_code for who in ("ana", "cus", "aud", "ben", "")}
    assert seen == {"ana": 200, "cus": 200, "aud": 200, "ben": 404, "": 404}
    assert site.call("ana", "GET", path).headers["cache-control"] == "no-store"
    assert site.call("", "GET", f"/pxweb/api/v2/tables/{entry}/data").status_code == 404
    assert site.call("ana", "GET", f"/pxweb/api/v2/tables/{entry}").status_code == 404
    taken = site.release("ben", document())
    assert taken.status_code == 403 and error_code(taken) == "not_released"
    change = {"status": "published"}
    assert site.call("ana", "POST", f"{path}/status", json=change).status_code == 403
    assert site.call("cus", "POST", f"{path}/status", json=change).json()["status"] == "published"
    assert site.call("", "GET", path).status_code == 200
    assert json.loads(site.call("", "GET", path).content)["status"] == "published"
    assert entry_of(site.release("ben", document())) == entry
    site.call("cus", "POST", f"{path}/status", json={"status": "withdrawn"})
    gone = site.call("", "GET", path)
    assert gone.status_code == 403 and gone.json()["error"]["detail"]["status"] == "withdrawn"
    assert site.call("", "GET", f"/pxweb/api/v2/tables/{entry}/data").status_code == 403
    assert site.call("", "GET", "/api/v1/releases").json()["total"] == 0
    back = site.call("cus", "POST", f"{path}/status", json={"status": "published"})
    assert back.status_code == 409


def test_ledger_verifies_and_statement_matches(site: Site) -> None:
    site.release("ana", document("0.26"))
    report = site.call("aud", "GET", "/api/v1/ledger/verify").json()
    assert report["is_ok"], report
    statement = site.call("ana", "GET", "/api/v1/ledger/statements/townspeople").json()
    assert any(line["epsilon"] == "0.26" for line in statement["lines"])


def test_inference_on_a_release(site: Site) -> None:
    made = site.release("ana", document("2", ["town", "sex"]))
    path = f"/api/v1/releases/{entry_of(made)}/inference"
    test = site.call("", "POST", path, json={"method": "independence", "replicates": 99})
    assert test.status_code == 200 and 0 < test.json()["result"]["p_value"] <= 1
    values = made.json()["tables"][0]["values"]
    asked = {"method": "difference", "first": {"town": ["Aby"]}, "second": {"town": ["Bro"]}}
    found = site.call("", "POST", path, json=asked).json()["result"]
    assert found["value"] == sum(values[:2]) - sum(values[2:4])
    assert found["interval"]["lower"] < found["value"] < found["interval"]["upper"]
    for body in (
        {"method": "interval"},
        {"method": "goodness_of_fit", "replicates": 99},
        {"method": "homogeneity", "table": ["town", "sex"], "replicates": 99},
        {"method": "cramers_v", "replicates": 99},
        {"method": "odds_ratio"},
        {"method": "total", "first": {"sex": ["male"]}},
        {"method": "proportion", "first": {"sex": ["male"]}},
        {"method": "ratio", "first": {"sex": ["male"]}, "second": {"sex": ["female"]}},
    ):
        answer = site.call("", "POST", path, json=body)
        assert answer.status_code == 200, (body, answer.text)
    wrong = site.call("", "POST", path, json={"method": "divination"})
    assert wrong.status_code == 400 and error_code(wrong) == "unknown_name"


def test_an_anchored_view_agrees_with_the_first_publication(make_site: Callable[..., Site]) -> None:
    site = make_site()
    first = site.release("ana", document("0.5", ["town"])).json()["tables"][0]["values"]
    later = entry_of(site.release("ana", document("0.1", ["town", "sex"])))
    measured = site.call("", "GET", f"/api/v1/releases/{later}").json()["tables"][0]["values"]
    tied = site.call("", "GET", f"/api/v1/releases/{later}", params={"view": "anchored"}).json()
    sums = [sum(tied["tables"][0]["values"][2 * i : 2 * i + 2]) for i in range(3)]
    assert [round(s, 6) for s in sums] == first
    assert tied["blocks"][0]["values"] == measured
    assert tied["adjustments"][-1]["name"] == "anchor"


def test_several_runners_measure_at_once_and_every_answer_is_right(make_site: Callable[..., Site]) -> None:
    """At epsilon 50 the noise is zero but for a chance of 1e-21, so that mixed-up answers would show."""
    site = make_site(
        top="tick_milliseconds = 20\nrunners = 4\n", policy=POLICY.replace("100", "900").replace("500", "900")
    )
    source = site.services.desk.find("towns").curator.source
    curator = site.services.desk.find("towns").curator
    axes = (["town"], ["sex"], ["age"], ["town", "sex"], ["sex", "age"], ["town", "age"], ["town", "sex", "age"])
    jobs = [
        (rows, site.release("ana", document(f"5{n}", rows), params={"wait": 0}).json()["id"])
        for n, rows in enumerate(axes)
    ]
    for rows, job in jobs:
        entry = _finished(site, "ana", job)["entry"]
        shown = site.call("", "GET", f"/api/v1/releases/{entry}").json()["tables"][0]["values"]
        query = TableQuery(space=load_request(document("1", rows)).space(curator.domain))
        assert shown == source.table(query).open_below_the_gate().tolist()


def test_an_unregistered_data_set_is_refused_until_the_custodian_registers_it(make_site: Callable[..., Site]) -> None:
    site = make_site(top="tick_milliseconds = 20\n", is_registered=False)
    assert error_code(site.release("ana", document())) == "not_registered"
    cus = site.services.accounts.find("cus")
    assert cus is not None
    site.services.custody.register(cus, "towns")
    assert site.release("ana", document()).status_code == 200
    lines = site.services.desk.ledger.reader.entries("townspeople")
    assert [line.by for line in lines if line.kind == "register"] == ["cus"]


def test_a_release_may_name_the_preview_that_it_means(make_site: Callable[..., Site]) -> None:
    site = make_site()
    path = "/api/v1/datasets/towns/plan"
    digest = site.call("ana", "POST", path, json=document("0.5")).json()["digest"]
    other = site.release("ana", document("0.6"), headers={"Preview-Digest": digest})
    assert other.status_code == 409 and error_code(other) == "stale_request"
    assert site.call("ana", "GET", "/api/v1/jobs").json() == []
    assert site.release("ana", document("0.5"), headers={"Preview-Digest": digest}).status_code == 200
    grouped = {"table": {"rows": [{"variable": "town", "categories": ["Aby", "Bro", "Cedar"]}]}}
    same = site.call("ben", "POST", path, json=grouped | {"privacy": {"definition": "pure", "epsilon": "1/2"}})
    assert same.json()["digest"] == digest
