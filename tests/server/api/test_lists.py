"""List mode: released once, then free, consistent and open to everybody; the list wins over a new release."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.api.conftest import Site, document, error_code

LIST = """
[table]
rows = ["town"]
columns = ["sex"]
wafers = ["age"]
margins = "all"
[privacy]
definition = "zero_concentrated"
rho = 0.5
"""


@pytest.fixture
def listed(make_site: Callable[..., Site], tmp_path: Path) -> Callable[[str], Site]:
    def make(mode: str) -> Site:
        folder = tmp_path / mode
        folder.mkdir()
        (folder / "list.toml").write_text(LIST)
        site = make_site(mode, extra=f'mode = "{mode}"\nlist = "list.toml"\n')
        for _ in range(200):
            if site.services.is_ready:
                break
            import time

            time.sleep(0.05)
        return site

    return make


TABLES = "/api/v1/datasets/towns/tables"


def test_everybody_reads_tables_from_the_list_for_free(listed: Callable[[str], Site]) -> None:
    site = listed("interactive")
    spent = site.call("aud", "GET", "/api/v1/ledger/statements/townspeople?everybody=true").json()["balances"]
    fine = site.call("", "POST", TABLES, json=document(1, ["town", "sex", "age"]))
    assert fine.status_code == 200, fine.text
    coarse = site.call("", "POST", TABLES, json=document(1, ["town"])).json()
    turned = site.call("", "POST", TABLES, json=document(1, ["age", "town"])).json()["tables"][0]
    cells = fine.json()["tables"][0]["values"]
    town = [round(sum(cells[i * 6 : i * 6 + 6]), 6) for i in range(3)]
    assert [round(v, 6) for v in coarse["tables"][0]["values"]] == town
    by_town = [round(sum(turned["values"][i::3]), 6) for i in range(3)]
    assert by_town == town
    assert site.call("", "POST", TABLES, json=document(1, ["town"])).json() == coarse
    assert coarse["adjustments"][-1]["name"] == "sum of a stored list"
    after = site.call("aud", "GET", "/api/v1/ledger/statements/townspeople?everybody=true").json()["balances"]
    assert spent == after


def test_a_release_that_the_list_holds_is_answered_from_it(listed: Callable[[str], Site]) -> None:
    site = listed("interactive")
    answer = site.release("ana", document("0.7", ["sex"]))
    assert answer.status_code == 200 and answer.json()["adjustments"][-1]["name"] == "sum of a stored list"
    quota = site.call("ana", "GET", "/api/v1/datasets/towns/quota").json()
    assert quota["charges"] == 0
    plan = site.call("ana", "POST", "/api/v1/datasets/towns/plan", json=document("0.7", ["sex"])).json()
    assert plan["from_list"] is True
    bought = site.release("ana", document("0.7", ["work"]))
    assert bought.status_code == 200 and bought.json()["adjustments"] == []
    missing = site.call("", "POST", TABLES, json=document(1, ["work"]))
    assert missing.status_code == 404 and error_code(missing) == "not_found"


def test_list_mode_releases_nothing_else_for_analysts(listed: Callable[[str], Site]) -> None:
    site = listed("list")
    assert site.release("ana", document("0.7", ["sex"])).status_code == 200
    refused = site.release("ana", document("0.7", ["work"]))
    assert refused.status_code == 403 and error_code(refused) == "not_allowed"
    assert site.call("", "GET", "/api/v1/datasets/towns/list").json()["cells"] == 18
    described = site.call("", "GET", "/api/v1/datasets/towns").json()
    assert described["mode"] == "list" and described["has_list"]


def test_the_list_is_charged_once_across_restarts(listed: Callable[[str], Site]) -> None:
    site = listed("list")
    for _ in range(2):
        site.services.release_list(site.services.accounts.find("cus"), "towns")
    lines = site.services.desk.ledger.entries("townspeople")
    assert sum(line.kind == "charge" for line in lines) == 1
