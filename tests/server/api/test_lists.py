"""List mode: released once, then free, consistent and open to everybody; the list wins over a new release."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.api.conftest import Site, document, error_code

LIST = """
[table]
rows = ["town"]
columns = ["sex"]
layers = ["age"]
margins = "all"
universe = "complete"
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
# Rows without a declared value fall out of the list: a table over fewer variables says that it leaves them out too.
SEX = {"sex": ["female", "male"]}
AGE = {"age": ["0-17", "18-64", "65+"]}
TOWN = {"town": ["Aby", "Bro", "Cedar"]}


def test_everybody_reads_tables_from_the_list_for_free(listed: Callable[[str], Site]) -> None:
    site = listed("interactive")
    spent = site.call("aud", "GET", "/api/v1/ledger/statements/townspeople?everybody=true").json()["balances"]
    fine = site.call("", "POST", TABLES, json=document(1, ["town", "sex", "age"]))
    assert fine.status_code == 200, fine.text
    asked = document(1, ["town"], where=SEX | AGE)
    coarse = site.call("", "POST", TABLES, json=asked).json()
    turned = site.call("", "POST", TABLES, json=document(1, ["age", "town"], where=SEX)).json()["tables"][0]
    cells = fine.json()["tables"][0]["values"]
    town = [round(sum(cells[i * 6 : i * 6 + 6]), 6) for i in range(3)]
    assert [round(v, 6) for v in coarse["tables"][0]["values"]] == town
    by_town = [round(sum(turned["values"][i::3]), 6) for i in range(3)]
    assert by_town == town
    assert site.call("", "POST", TABLES, json=asked).json() == coarse
    assert coarse["adjustments"][-1]["name"] == "sum of a stored list"
    after = site.call("aud", "GET", "/api/v1/ledger/statements/townspeople?everybody=true").json()["balances"]
    assert spent == after


def test_a_release_that_the_list_holds_is_answered_from_it(listed: Callable[[str], Site]) -> None:
    site = listed("interactive")
    asked = document("0.7", ["sex"], where=TOWN | AGE)
    answer = site.release("ana", asked)
    assert answer.status_code == 200 and answer.json()["adjustments"][-1]["name"] == "sum of a stored list"
    quota = site.call("ana", "GET", "/api/v1/datasets/towns/quota").json()
    assert quota["charges"] == 0
    plan = site.call("ana", "POST", "/api/v1/datasets/towns/plan", json=asked).json()
    assert plan["from_list"] is True
    bought = site.release("ana", document("0.7", ["work"]))
    assert bought.status_code == 200 and bought.json()["adjustments"] == []
    # A batch does not buy a second number for a table that the list holds.
    batch = {"table": [asked["table"], {"rows": ["work", "age"]}], "privacy": asked["privacy"]}
    plan = site.call("ana", "POST", "/api/v1/datasets/towns/plan", json=batch).json()
    assert plan["from_list"] is True
    both = site.release("ana", batch)
    assert both.status_code == 409 and "a table of this batch" in both.json()["error"]["message"]
    missing = site.call("", "POST", TABLES, json=document(1, ["work"]))
    assert missing.status_code == 404 and error_code(missing) == "not_found"


def test_list_mode_releases_nothing_else_for_analysts(listed: Callable[[str], Site]) -> None:
    site = listed("list")
    assert site.release("ana", document("0.7", ["sex"], where=TOWN | AGE)).status_code == 200
    other = site.release("ana", document("0.7", ["sex"]))
    assert other.status_code == 400 and error_code(other) == "other_rows"
    refused = site.release("ana", document("0.7", ["work"]))
    assert refused.status_code == 403 and error_code(refused) == "not_allowed"
    several = {"table": [{"rows": ["work"]}, {"rows": ["work", "age"]}], "privacy": document("0.7")["privacy"]}
    assert error_code(site.release("ana", several)) == "not_allowed"
    assert site.call("", "GET", "/api/v1/datasets/towns/list").json()["cells"] == 18
    described = site.call("", "GET", "/api/v1/datasets/towns").json()
    assert described["mode"] == "list" and described["has_list"]


def test_the_list_is_charged_once_across_restarts(listed: Callable[[str], Site]) -> None:
    site = listed("list")
    for _ in range(2):
        site.services.reading.release_list(site.services.accounts.find("cus"), "towns")
    lines = site.services.desk.ledger.reader.entries("townspeople")
    assert sum(line.kind == "charge" for line in lines) == 1


def test_a_table_of_other_records_is_refused_and_told_how_to_be_answered(listed: Callable[[str], Site]) -> None:
    """Everybody in a town are more than those of a declared sex and age: the list does not know them."""
    site = listed("interactive")
    refused = site.call("", "POST", TABLES, json=document(1, ["town"]))
    assert refused.status_code == 400 and error_code(refused) == "other_rows"
    where = refused.json()["error"]["detail"]["where"]
    assert where == SEX | AGE
    assert site.call("", "POST", TABLES, json=document(1, ["town"], where=where)).status_code == 200
    bought = site.release("ana", document("0.7", ["town"]))
    assert bought.status_code == 200 and bought.json()["adjustments"] == []


def test_margins_that_the_list_holds_come_from_it(listed: Callable[[str], Site]) -> None:
    """Margins count the records of their own full cross; over all variables of the list those are the list's."""
    site = listed("interactive")
    every = document(1, ["town", "sex", "age"], margins="all", universe="complete")
    answer = site.call("", "POST", TABLES, json=every)
    assert answer.status_code == 200, answer.text
    tables = {table["name"]: table["values"] for table in answer.json()["tables"]}
    assert len(tables) == 8
    cells = tables["town x sex x age"]
    assert [round(sum(cells[i * 6 : i * 6 + 6]), 6) for i in range(3)] == [round(v, 6) for v in tables["town"]]
    assert round(sum(cells), 6) == round(tables["total"][0], 6)
    unsaid = site.call("", "POST", TABLES, json=document(1, ["town", "sex", "age"], margins="all"))
    assert unsaid.status_code == 400 and unsaid.json()["error"]["detail"]["key"] == "universe"
    some = document(1, ["town", "sex"], margins=[["town"], []], where=AGE, universe="complete")
    coarse = site.call("", "POST", TABLES, json=some).json()["tables"]
    assert [round(v, 6) for v in coarse[0]["values"]] == [round(v, 6) for v in tables["town"]]
    fewer = site.call("", "POST", TABLES, json=document(1, ["town", "sex"], margins="all"))
    assert fewer.status_code == 400 and error_code(fewer) == "other_rows"
    unknown = site.call("", "POST", TABLES, json=document(1, ["town", "work"], margins="all"))
    assert unknown.status_code == 404
