"""What an analyst may not know stays unsaid, and the second person is a second person."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.api.conftest import DATASET, POLICY, Site, document, error_code
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.errors import DaleniusError
from dalenius.ledger import Charge

PLAN = "/api/v1/datasets/towns/plan"
EMBARGOED = 'release = "embargoed"\n' + POLICY
APPROVAL = POLICY.replace("[budget]", "approval_above = 0.2\n[budget]")


def plan(site: Site, who: str, asked: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = site.call(who, "POST", PLAN, json=asked).json()
    # Keyed by the secrets of the site, and a function of the request alone.
    found.pop("digest", None)
    return found


def entry_of(response: Any) -> str:
    return str(response.headers["content-location"].rpartition("/")[2])


def finished(site: Site, who: str, job: str) -> dict[str, Any]:
    for _ in range(500):
        view: dict[str, Any] = site.call(who, "GET", f"/api/v1/jobs/{job}").json()
        if view["state"] in ("done", "failed"):
            return view
        time.sleep(0.01)
    raise AssertionError(view)


# -- embargo --------------------------------------------------------------------------------------------------------


def test_a_preview_is_the_same_with_and_without_a_release_that_is_held_back(make_site: Callable[..., Site]) -> None:
    held, plain = make_site("held", policy=EMBARGOED), make_site("plain", policy=EMBARGOED)
    entry = entry_of(held.release("ana", document()))
    assert plan(held, "ben", document()) == plan(plain, "ben", document())
    status = f"/api/v1/releases/{entry}/status"
    assert held.call("cus", "POST", status, json={"status": "withdrawn"}).status_code == 200
    assert plan(held, "ben", document()) == plan(plain, "ben", document())
    assert held.call("ben", "GET", f"/api/v1/releases/{entry}").status_code == 404


def test_a_preview_asks_the_ledger_the_same_amount_of_work(
    make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time follows work: the ledger is asked once, under a key that has no charge, whoever asked before."""
    site = make_site(policy=EMBARGOED)
    site.release("ana", document())
    keys: list[str] = []
    quote = site.services.desk.ledger.quote

    def watched(charge: Charge) -> Any:
        keys.append(charge.key)
        return quote(charge)

    monkeypatch.setattr(site.services.desk.ledger, "quote", watched)
    charged = {e.body["key"] for e in site.services.desk.ledger.reader.entries("townspeople") if e.kind == "charge"}
    plan(site, "ben", document())
    plan(site, "ben", document("0.7"))
    assert len(keys) == 2 and not set(keys) & charged


def test_who_may_know_of_a_held_back_release_is_told(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=EMBARGOED)
    entry = entry_of(site.release("ana", document()))
    own = plan(site, "ana", document())
    assert own["already"]["entry"] == entry and own["refusal"] is None
    assert entry_of(site.release("ana", document())) == entry
    assert plan(site, "cus", document())["refusal"]["error"]["detail"]["status"] == "embargoed"
    for status in ("published", "withdrawn"):
        site.call("cus", "POST", f"/api/v1/releases/{entry}/status", json={"status": status})
    assert plan(site, "ben", document())["refusal"]["error"]["detail"]["status"] == "withdrawn"


def test_a_release_that_is_held_back_and_an_empty_account_read_the_same(make_site: Callable[..., Site]) -> None:
    held = make_site("held", policy=EMBARGOED)
    held.release("ana", document())
    empty = make_site("empty", policy=EMBARGOED.replace("rho = 500", "rho = 0.01"))
    first, second = held.release("ben", document()), empty.release("ben", document())
    assert first.status_code == second.status_code == 403
    assert first.json() == second.json() and error_code(first) == "not_released"


def test_refusals_that_would_come_first_still_come_first(make_site: Callable[..., Site]) -> None:
    site = make_site(policy='release = "embargoed"\n' + APPROVAL)
    asked = site.release("ana", document("1")).json()["id"]
    site.call("cus", "POST", f"/api/v1/approvals/{asked}", json={"approve": True})
    assert finished(site, "ana", asked)["state"] == "done"
    waiting = site.release("ben", document("1"))
    assert waiting.status_code == 202 and waiting.json()["state"] == "awaiting approval"
    site.call("cus", "PUT", "/api/v1/populations/townspeople/quotas/ben", json={"rho": "0.01", "delta": "0"})
    small = make_site("small", policy=EMBARGOED)
    small.release("ana", document())
    small.call("cus", "PUT", "/api/v1/populations/townspeople/quotas/ben", json={"rho": "0.01", "delta": "0"})
    assert error_code(small.release("ben", document())) == "quota_exhausted"


# -- what is left to others -----------------------------------------------------------------------------------------


def test_previews_say_nothing_of_what_is_left_to_everybody(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=POLICY.replace("rho = 500", "rho = 0.2"))
    asked = [document(epsilon) for epsilon in ("0.1", "0.6", "0.7", "5")]
    assert [plan(site, "ben", d)["refusal"] for d in asked] == [None] * 4
    assert plan(site, "cus", document("5"))["refusal"]["error"]["code"] == "budget_exhausted"
    refused = site.release("ben", document("5"))
    assert error_code(refused) == "not_released"
    assert "rho" not in refused.text and "townspeople" not in refused.text
    assert error_code(site.release("cus", document("5"))) == "budget_exhausted"


def test_an_analyst_without_a_quota_cannot_sound_out_the_account(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=POLICY.partition("[default_quota]")[0])
    told = plan(site, "ana", document())["refusal"]
    assert told["error"]["code"] == "quota_exhausted"
    for epsilon in ("0.1", "0.5", "90"):
        refused = site.release("ana", document(epsilon))
        assert refused.json() == told
    assert site.call("ana", "GET", "/api/v1/jobs").json() == []
    site.call("cus", "PUT", "/api/v1/populations/townspeople/quotas/ana", json={"rho": "1", "delta": "0"})
    assert site.release("ana", document()).status_code == 200
    assert site.release("cus", document("0.4")).status_code == 200


BOOTSTRAP = {"definition": "bootstrap", "epsilon": "1"}
OPENED = """
[allow]
acknowledge = ["bootstrap"]
[floors]
income = 100
"""


def bootstrapped(town: str) -> dict[str, object]:
    """A total whose guarantee is made within the data only."""
    return {"table": {"measure": "total", "of": "income", "where": {"town": [town]}}, "privacy": BOOTSTRAP}


def test_a_quota_that_the_custodian_sets_holds_in_every_account(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=POLICY.partition("[default_quota]")[0] + OPENED)
    small = {"rho": "0.02", "delta": "0"}
    site.call("cus", "PUT", "/api/v1/populations/townspeople/quotas/ana", json=small)
    told = plan(site, "ana", bootstrapped("Aby"))
    assert told["quota"]["account"] == "data-dependent" and told["quota"]["left"]["rho"] == "0.02"
    assert told["refusal"]["error"]["code"] == "quota_exhausted"
    for town in ("Aby", "Bro", "Cedar"):
        assert error_code(site.release("ana", bootstrapped(town))) == "quota_exhausted"
    assert site.services.desk.ledger.reader.account("townspeople").other_charges["data-dependent"] == 0
    # Ben was given nothing, on either page.
    assert "data-dependent account" in site.release("ben", bootstrapped("Aby")).json()["error"]["message"]
    assert site.release("cus", bootstrapped("Aby")).status_code == 200


def test_a_quota_of_one_data_set_holds_on_the_pages_that_another_opens(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    second = '[[datasets]]\ndocument = "second.toml"\npolicy = "open.toml"\n'
    quota = POLICY.replace("rho = 100", "rho = 0.02")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "second.toml").write_text(DATASET.replace('"towns"', '"second"'))
    (folder / "open.toml").write_text(quota + OPENED)
    site = make_site(policy=quota, extra=second)
    site.services.desk.ledger.declarations.grant("townspeople", "add-remove", 9, 0, by="test", account="data-dependent")
    assert site.release("ana", document("0.1")).status_code == 200
    refused = site.call("ana", "POST", "/api/v1/datasets/second/releases", json=bootstrapped("Aby"))
    assert error_code(refused) == "quota_exhausted"
    assert site.services.desk.ledger.reader.account("townspeople").other_charges["data-dependent"] == 0


# -- the second person ----------------------------------------------------------------------------------------------


def test_what_a_deactivated_user_asked_for_is_not_approved(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    jobs = [site.release("ana", document(e)).json()["id"] for e in ("1", "1.1")]
    site.services.accounts.deactivate("ana")
    late = site.call("cus", "POST", f"/api/v1/approvals/{jobs[0]}", json={"approve": True})
    assert late.status_code == 403 and error_code(late) == "forbidden"
    site.services.jobs.decide(jobs[1], "cus")
    assert finished(site, "cus", jobs[1])["error"]["error"]["code"] == "forbidden"
    assert (
        site.call("cus", "GET", "/api/v1/ledger/statements/townspeople?everybody=true").text.count('"kind":"charge"')
        == 0
    )


def test_deactivating_somebody_ends_what_they_wait_for(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    job = site.release("ana", document("1")).json()["id"]
    assert site.call("cus", "DELETE", "/api/v1/users/ana").status_code == 204
    assert site.call("cus", "GET", "/api/v1/approvals").json() == []
    assert finished(site, "cus", job)["http_status"] == 403


def test_an_approval_counts_only_while_the_approver_is_a_custodian(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    job = site.services.jobs.find(site.release("ana", document("1")).json()["id"])
    site.services.accounts.deactivate("dan")
    with pytest.raises(DaleniusError) as refused:
        site.services.releasing.run_job(_approved(job, "dan"), lambda _: None)
    assert refused.value.code == "approval_required"
    assert site.services.releasing.run_job(_approved(job, "cus"), lambda _: None)


def _approved(job: Any, by: str) -> Any:
    from dataclasses import replace

    return replace(job, approved_by=by)


def test_no_custodian_gets_into_another_ones_account(make_site: Callable[..., Site]) -> None:
    site = make_site()
    cus = site.services.accounts.find("cus")
    assert cus is not None
    for act in (
        lambda: site.services.custody.reset_password(cus, "dan"),
        lambda: site.services.custody.create_user(cus, "eve", "custodian"),
    ):
        with pytest.raises(DaleniusError) as refused:
            act()
        assert refused.value.code == "forbidden"
    assert site.services.accounts.verify("dan", "custodian password 2") is not None
    made = site.call("cus", "POST", "/api/v1/users", json={"name": "eve", "role": "custodian"})
    assert made.status_code == 403
    assert site.services.accounts.find("eve") is None


def test_who_issued_a_password_is_no_second_person_to_its_owner(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    made = site.call("cus", "POST", "/api/v1/users", json={"name": "eve", "role": "analyst"}).json()
    eve = site.services.accounts.verify("eve", made["password"])
    assert eve is not None
    site.headers["eve"] = {"Authorization": f"Bearer {site.services.accounts.create_token(eve, 'test')}"}
    job = site.release("eve", document("1")).json()["id"]
    approval = f"/api/v1/approvals/{job}"
    assert site.call("cus", "POST", approval, json={"approve": True}).status_code == 403
    site.services.accounts.set_password("eve", "chosen by its owner")
    assert site.call("cus", "POST", approval, json={"approve": True}).status_code == 403
    assert site.call("dan", "POST", approval, json={"approve": True}).status_code == 204
    assert finished(site, "dan", job)["state"] == "done"


def test_one_custodian_may_tighten_the_rule_and_never_loosen_it(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    path = "/api/v1/populations/townspeople/approval"
    assert site.call("cus", "PUT", path, json={"above": "0.1"}).status_code == 204
    for weaker in ("0.2", None, None):
        assert site.call("cus", "PUT", path, json={"above": weaker}).status_code == 202
        assert site.call("cus", "GET", path).json()["above"] == "0.1"
    assert site.release("cus", document("0.5")).json()["state"] == "awaiting approval"
    machine = CliRunner().invoke(app, ["serve", str(site.place), "--approval-above", "townspeople:none"])
    assert machine.exit_code == 0, machine.exception
    assert site.release("cus", document("0.51")).status_code == 200


def test_no_approval_is_asked_for_once_two_custodians_say_so(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    path = "/api/v1/populations/townspeople/approval"
    assert site.call("cus", "PUT", path, json={"above": None}).status_code == 202
    assert site.call("dan", "GET", path).json() == {"above": "0.2", "proposed": {"above": None, "by": "cus"}}
    assert site.call("dan", "PUT", path, json={"above": "7"}).status_code == 202
    assert site.call("dan", "PUT", path, json={"above": None}).status_code == 202
    assert site.call("cus", "PUT", path, json={"above": None}).status_code == 204
    assert site.call("dan", "GET", path).json() == {"above": None, "proposed": None}
    assert site.release("ana", document("1")).status_code == 200
    lines = site.services.custody.ledger_lines(site.services.accounts.find("cus"), None, "jsonl")
    assert '"dan and cus"' in lines
    assert site.call("cus", "PUT", path, json={"above": None}).status_code == 204


def test_a_proposal_of_somebody_who_left_or_of_last_month_counts_for_nothing(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    path = "/api/v1/populations/townspeople/approval"
    site.call("cus", "PUT", path, json={"above": None})
    site.services.store.write("UPDATE proposals SET created = created - 2600000")
    assert site.call("dan", "PUT", path, json={"above": None}).status_code == 202
    site.services.accounts.deactivate("dan")
    assert site.call("cus", "PUT", path, json={"above": None}).status_code == 202
    assert site.call("cus", "GET", path).json()["above"] == "0.2"


def test_a_request_that_the_askers_quota_cannot_pay_is_refused_at_once(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL.replace("rho = 100", "rho = 0.3"))
    told = plan(site, "ana", document("1"))["refusal"]["error"]["code"]
    refused = site.release("ana", document("1"))
    assert told == error_code(refused) == "quota_exhausted"
    assert site.call("cus", "GET", "/api/v1/approvals").json() == []


def test_an_approval_that_could_not_be_paid_is_refused_to_who_gives_it(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    job = site.release("ana", document("1")).json()["id"]
    quota = "/api/v1/populations/townspeople/quotas/ana"
    site.call("cus", "PUT", quota, json={"rho": "0.1", "delta": "0"})
    approval = f"/api/v1/approvals/{job}"
    refused = site.call("cus", "POST", approval, json={"approve": True})
    assert refused.status_code == 403 and error_code(refused) == "quota_exhausted"
    assert [j["id"] for j in site.call("cus", "GET", "/api/v1/approvals").json()] == [job]
    site.call("cus", "PUT", quota, json={"rho": "2", "delta": "0"})
    assert site.call("cus", "POST", approval, json={"approve": True}).status_code == 204
    assert finished(site, "ana", job)["state"] == "done"


def test_a_renewed_password_ends_what_was_asked_under_the_old_one(make_site: Callable[..., Site]) -> None:
    site = make_site(policy=APPROVAL)
    cus, dan = site.services.accounts.find("cus"), site.services.accounts.find("dan")
    assert cus is not None and dan is not None

    def ask_as_eve(password: str, epsilon: str) -> str:
        eve = site.services.accounts.verify("eve", password)
        assert eve is not None
        site.headers["eve"] = {"Authorization": f"Bearer {site.services.accounts.create_token(eve, 'test')}"}
        return str(site.release("eve", document(epsilon)).json()["id"])

    first = ask_as_eve(site.services.custody.create_user(cus, "eve", "analyst"), "1")
    # Whoever issued the password may have asked; that another custodian issues the next one must not free the first.
    site.services.custody.reset_password(dan, "eve")
    assert site.call("cus", "POST", f"/api/v1/approvals/{first}", json={"approve": True}).status_code == 409
    assert finished(site, "cus", first)["error"]["error"]["code"] == "forbidden"
    second = ask_as_eve(site.services.custody.reset_password(cus, "eve"), "1.1")
    assert CliRunner().invoke(app, ["serve", str(site.place), "--reset-password", "eve"]).exit_code == 0
    assert finished(site, "cus", second)["error"]["error"]["code"] == "forbidden"
    assert site.services.custody.account(cus, "townspeople").charges == 0


def test_the_server_machine_renews_a_custodians_password(make_site: Callable[..., Site]) -> None:
    site = make_site()
    result = CliRunner().invoke(app, ["serve", str(site.place), "--reset-password", "dan"])
    assert result.exit_code == 0
    assert site.services.accounts.verify("dan", "custodian password 2") is None
    assert site.services.accounts.verify("dan", result.stdout.strip().rpartition(" ")[2]) is not None
    unknown = CliRunner().invoke(app, ["serve", str(site.place), "--reset-password", "nobody"])
    assert unknown.exit_code != 0
