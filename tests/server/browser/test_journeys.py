"""Whole journeys in a real Chromium, each by mouse, by keyboard alone, and without JavaScript."""

import csv
import io
import re
from typing import Any

import pytest

from dalenius.server.pages.wording import Numbers

pytestmark = pytest.mark.browser


def build(visitor: Any, rows: str, columns: str) -> None:
    """Put two variables on a table, by the buttons."""
    visitor.press(f"[name=do][value='rows:{rows}']")
    visitor.arrives(rf"rows={rows}")
    visitor.press(f"[name=do][value='columns:{columns}']")
    visitor.arrives(rf"columns={columns}")


def test_newcomer_builds_releases_downloads_and_tests(visit: Any, site: Any) -> None:
    nina = visit("nina")
    nina.press("a:has-text('guided first table')")
    nina.sees("First table.")
    build(nina, "mode", "age")
    nina.sees("Margin of error")
    assert nina.text("aside.preview dd >> nth=0") == "16"
    quota = site.services.releasing.quota(user(site, "nina"), "commuters")
    assert quota.charges == 0
    nina.press("#release")
    nina.arrives(r"/r/[0-9a-f]+")
    entry = re.search(r"/r/([0-9a-f]+)", nina.page.url).group(1)  # type: ignore[union-attr]
    release = site.services.reading.release(user(site, "nina"), entry)
    assert site.services.releasing.quota(user(site, "nina"), "commuters").charges == 1

    shown = [
        int(text.replace(",", "").replace("\u2212", "-"))
        for text in nina.page.locator("#result td:not(.total) .value").all_inner_texts()
    ]
    assert shown == [int(v) for v in release.table.values]
    assert nina.page.locator("#result td .moe").count() == 25
    content = list(csv.DictReader(io.StringIO(nina.download("#download-csv"))))
    assert [int(row["value"]) for row in content] == shown

    nina.press("a:text-is('Test of independence')")
    nina.sees("Variables to test together")
    nina.press("#run-test")
    nina.sees("A relation is shown")
    nina.press("a:text-is('Cite and reuse')")
    nina.sees(f"Ledger entry {entry}")

    nina.press("a:text-is('Change this table')")
    nina.sees(re.compile("Already released on"))
    assert not nina.has("#release")
    nina.press("#open-released")
    nina.arrives(rf"/r/{entry}")
    assert site.services.releasing.quota(user(site, "nina"), "commuters").charges == 1


def test_custodian_sets_a_budget_approves_and_reads_the_ledger(visit: Any, site: Any) -> None:
    carla = visit("carla")
    carla.press("a:text-is('Custodian')")
    carla.press("a:text-is('Budget and quotas')")
    carla.sees("Account of the population")
    carla.write("#grant-rho", "1.5")
    carla.write("#grant-note", "second survey")
    carla.press("#grant")
    carla.sees("ρ = 1.5 was granted.")
    assert carla.text("#left-rho").startswith("ρ 5.5")
    carla.write("#above", "0.05")
    carla.press("#set-approval")
    carla.sees("The rule was written to the ledger.")

    anna = visit("anna")
    anna.open("/d/commuters/table")
    build(anna, "district", "mode")
    anna.sees("Ask for approval")
    anna.press("#release")
    anna.sees("Your table awaits approval")
    assert site.services.releasing.quota(user(site, "anna"), "commuters").charges == 0

    carla.press("a:has-text('Approvals')")
    carla.sees("anna")
    carla.press("button[value=approve]")
    carla.sees("Approved. The table is being released.")
    anna.arrives(r"/r/[0-9a-f]+")
    anna.sees("published")

    carla.press("a:text-is('Ledger')")
    carla.sees("Movements")
    lines = carla.text("#ledger-lines")
    assert "grant" in lines and "charge" in lines and "1.5" in lines and "approval rule" in lines
    carla.press("a:text-is('Verify and see evidence')")
    carla.sees("The chain, the totals and the stored releases agree.")


def test_analyst_runs_out_and_is_told_what_is_left(visit: Any, site: Any) -> None:
    carla = user(site, "carla")
    site.services.custody.set_quota(carla, "ridgeford", "anna", "0.15", "0")
    anna = visit("anna")
    anna.open("/d/commuters/table")
    build(anna, "mode", "age")
    anna.sees("Quota left")
    anna.press("#release")
    anna.arrives(r"/r/[0-9a-f]+")
    left = site.services.releasing.quota(user(site, "anna"), "commuters").left
    assert left is not None

    anna.open("/d/commuters/table")
    build(anna, "district", "age")
    anna.sees(re.compile(rf"You have ρ = {Numbers().amount(left['rho'])} left"))
    assert not anna.has("#release")
    anna.write("#epsilon", "0.1")
    anna.press("#update")
    anna.sees("Spends ε = 0.1")
    anna.press("#release")
    anna.arrives(r"/r/[0-9a-f]+")
    anna.open("/mine")
    anna.sees(re.compile(r"of 0.15 left"))


def test_anybody_reads_tables_from_the_ready_list(visit: Any, site: Any) -> None:
    reader = visit()
    reader.open("/d/open-commuters")
    reader.sees("The list is ready")
    reader.press("a:text-is('Build a table')")
    build(reader, "mode", "age")
    reader.sees("The stored list holds this table.")
    reader.press("#open-list")
    reader.sees("from the stored list")
    cells = reader.page.locator("#result td:not(.total) .value").all_inner_texts()
    stored = site.services.reading.release(user(site, "carla"), site.services.reading.list_view("open-commuters").entry)
    assert [int(c.replace(",", "")) for c in cells] == stored.margin("mode", "age").values.astype(int).tolist()
    totals = reader.page.locator("#result td.total .value").all_inner_texts()
    assert int(totals[-1].replace(",", "")) == int(stored.values.sum())
    content = list(csv.DictReader(io.StringIO(reader.download("#download-csv"))))
    assert [row["value"] for row in content] == [c.replace(",", "") for c in cells]


def test_custodian_is_asked_before_a_table_is_withdrawn(visit: Any, site: Any) -> None:
    anna = visit("anna")
    anna.open("/d/commuters/table")
    build(anna, "mode", "age")
    anna.press("#release")
    anna.arrives(r"/r/[0-9a-f]+")
    address = anna.page.url.split("?")[0].removeprefix(site.address)
    carla = visit("carla")
    carla.open(address)
    carla.press("button[value=withdrawn]")
    carla.sees("Withdraw this table?")
    carla.press("#keep")
    carla.arrives(r"/r/[0-9a-f]+$")
    assert site.services.reading.releases(user(site, "nina"), "commuters")[0] == 1
    carla.press("button[value=withdrawn]")
    carla.press("#confirm-withdrawal")
    carla.sees("The table is now withdrawn.")
    assert site.services.reading.releases(user(site, "nina"), "commuters")[0] == 0


def user(site: Any, name: str) -> Any:
    """Somebody who may sign in."""
    return site.services.accounts.find(name)
