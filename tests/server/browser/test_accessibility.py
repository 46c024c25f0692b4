"""axe finds no violation of WCAG 2.2 A and AA on any page; in dark colours the contrast is checked again."""

import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
EVERYTHING = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"type": "rule", "values": ["color-contrast"]}
TABLE = "rows=mode&columns=age&layers=district&definition=pure&epsilon=0.2"
OPEN = "/d/commuters/table?rows=mode&level.mode=*&group.mode=own|bicycle&columns=minutes&where.age=15-24&measure=mean%3Aminutes"


@pytest.fixture
def released(site: Any) -> dict[str, str]:
    """Releases of each kind: published, withdrawn, and one that awaits approval."""
    services = site.services
    carla, anna = services.accounts.find("carla"), services.accounts.find("anna")

    def release(document: dict[str, Any]) -> Any:
        job = services.releasing.submit(anna, "commuters", document)
        for _ in range(200):
            job = services.releasing.job(anna, job.id)
            if job.is_finished or job.state == "awaiting approval":
                break
            time.sleep(0.05)
        return job

    def table(**axes: Any) -> dict[str, Any]:
        return {"dataset": "commuters", "table": axes, "privacy": {"definition": "pure", "epsilon": "0.2"}}

    first = release(table(rows=["mode"], columns=["age"], layers=["district"])).entry
    second = release(table(rows=["district"])).entry
    services.custody.set_status(carla, second, "withdrawn")
    services.custody.set_approval(carla, "ridgeford", "0.01")
    waiting = release({**table(rows=["age"]), "privacy": {"definition": "pure", "epsilon": "0.5"}}).id
    services.releasing.save(anna, "Saved one", "commuters", table(rows=["age"]))
    return {"first": first, "second": second, "job": waiting}


def pages(ids: dict[str, str]) -> dict[str, list[str]]:
    """Every page by who may see it."""
    r, e = f"/r/{ids['first']}", f"/r/{ids['second']}"
    return {
        "": [
            "/", "/tables", "/explain", "/explain/noise", "/explain/compare", "/explain/protected", "/sign-in",
            "/d/commuters", "/d/commuters/table", f"/d/commuters/table?{TABLE}", r, f"{r}?show=row&chart=heat&as=interval",
            f"{r}/independence", f"{r}/compare?a=0&b=1", f"{r}/cite", "/r/none", "/explain/none",
            "/d/open-commuters", "/d/open-commuters/table?rows=mode&columns=age", "/d/open-commuters/list?rows=mode&columns=age",
        ],
        "anna": [
            f"/d/commuters/table?{TABLE}", OPEN, "/d/commuters/table?guide=1", "/d/commuters/table?rows=nothing",
            "/d/commuters/table?rows=mode&epsilon=1", "/mine", "/account", "/ledger", f"/jobs/{ids['job']}",
            f"{r}/independence?run=1&axis=mode&axis=age",
        ],
        "carla": [
            "/custodian", "/custodian/budget/ridgeford", "/custodian/approvals", "/custodian/releases",
            "/custodian/policy", "/custodian/users", "/ledger", "/ledger/evidence", r, e, f"{r}?values=anchored",
        ],
        "otto": ["/ledger", "/ledger/evidence", "/d/commuters/table?rows=mode&measure=proportion%3Aage", "/d/commuters/table?measure=sample_and_aggregate%3Aminutes"],
    }  # fmt: skip


def violations(page: Any, rules: dict[str, Any], within: str = "html") -> list[str]:
    """What axe finds in a part of a page, in one line each."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE)
    found = page.evaluate(
        "async ([rules, within]) => (await axe.run(within, {runOnly: rules, resultTypes: ['violations']})).violations"
        ".map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).join(' | '))",
        [rules, within],
    )
    return [str(line)[:600] for line in found]


def in_both_schemes(page: Any, *, is_dark: bool, is_first: bool = False) -> list[str]:
    """All rules in light colours; in dark ones, which change nothing else, the contrast again.

    What stands around the content is the same on every page of a person: in dark colours it is looked at on two pages.
    """
    lines = violations(page, EVERYTHING)
    if is_dark:
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        lines += [f"dark: {line}" for line in violations(page, COLOURS, "html" if is_first else "main")]
        page.emulate_media(color_scheme="light")
    return lines


@pytest.mark.parametrize(("width", "language"), [(1300, "en"), (380, "de")])
def test_every_page(browser: Any, site: Any, released: dict[str, str], width: int, language: str) -> None:
    """Wide pages in both schemes of colours; every third narrow one; and every page in the other language is as wide as it may be."""
    found: dict[str, list[str]] = {}
    for name, paths in pages(released).items():
        context = browser.new_context(
            color_scheme="light", locale=language, viewport={"width": width, "height": 900}, reduced_motion="reduce"
        )
        page = context.new_page()
        if name:
            page.goto(f"{site.address}/sign-in")
            page.fill("#name", name)
            page.fill("#password", site.passwords[name])
            page.click("#sign-in")
        for number, path in enumerate(paths):
            is_narrow = width < 500 and number % 3 == 0
            page.set_viewport_size({"width": width if is_narrow else 1300, "height": 900})
            page.goto(site.address + path)
            assert page.evaluate("document.documentElement.lang") == language
            wide = page.evaluate(
                "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth"
                " && !e.closest('.scroll, pre')).map(e => e.tagName + '.' + e.className).slice(0, 3)"
            )
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, wide)
            is_judged = is_narrow or width > 500
            if is_judged and (lines := in_both_schemes(page, is_dark=width > 500, is_first=number < 2)):
                found[f"{name} {path}"] = lines
        if name == "carla":
            page.goto(f"{site.address}/r/{released['first']}")
            page.click("button[value=withdrawn]")
            page.wait_for_selector("#confirm-withdrawal")
            if lines := in_both_schemes(page, is_dark=width > 500):
                found["the question before a withdrawal"] = lines
        context.close()
    assert not found, "\n".join(f"{place}: {line}" for place, lines in found.items() for line in lines)
