"""What JavaScript adds: drag and drop, partial updates that are spoken, and a history that works."""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Any, site: Any) -> Any:
    """A signed-in analyst's page that notes what is loaded as a whole."""
    context = browser.new_context(locale="en", viewport={"width": 1300, "height": 1000})
    opened = context.new_page()
    opened.set_default_timeout(15_000)
    opened.goto(f"{site.address}/sign-in?next=/d/commuters/table")
    opened.fill("#name", "anna")
    opened.fill("#password", site.passwords["anna"])
    opened.click("#sign-in")
    opened.wait_for_url("**/d/commuters/table")
    yield opened
    context.close()


def test_drag_and_drop_changes_part_of_the_page(page: Any) -> None:
    loads: list[str] = []
    page.on("load", lambda _: loads.append(page.url))
    page.locator("li.variable[data-variable=mode]").drag_to(page.locator("[data-place=rows]"))
    page.wait_for_url(re.compile(r"\?rows=mode&"))
    page.locator("li.variable[data-variable=age]").drag_to(page.locator("[data-place=columns]"))
    page.wait_for_url(re.compile(r"rows=mode&columns=age&"))
    page.locator(".chip[data-variable=mode]").drag_to(page.locator("[data-place=layers]"))
    page.wait_for_url(re.compile(r"columns=age&layers=mode&"))
    assert loads == []
    page.locator("#live", has_text="16 cells").wait_for(state="attached")
    page.go_back()
    page.wait_for_url(re.compile(r"rows=mode&columns=age&"))
    page.locator(".zone[data-place=rows] .chip[data-variable=mode]").wait_for()


def test_a_change_of_precision_updates_the_preview_and_keeps_the_focus(page: Any) -> None:
    page.click("[name=do][value='rows:mode']")
    page.wait_for_url(re.compile(r"rows=mode"))
    before = page.inner_text("aside.preview")
    page.fill("#epsilon", "0.05")
    page.keyboard.press("Tab")
    page.wait_for_url(re.compile(r"epsilon=0\.05"))
    page.locator("aside.preview", has_text="ε = 0.05").wait_for()
    assert page.inner_text("aside.preview") != before
    assert page.evaluate("document.activeElement.tagName") != "BODY"


def test_copying_needs_no_permission_from_another_site(page: Any) -> None:
    page.click("[name=do][value='rows:mode']")
    page.wait_for_url(re.compile(r"rows=mode"))
    page.click("summary:has-text('Copy as command')")
    page.click("[data-copy=copy-document]")
    page.locator("[data-copy=copy-document]", has_text="Copied").wait_for()


def test_a_double_click_spends_once(page: Any, site: Any) -> None:
    page.click("[name=do][value='rows:district']")
    page.wait_for_url(re.compile(r"rows=district"))
    page.dblclick("#release")
    page.wait_for_url(re.compile(r"/r/[0-9a-f]+"))
    assert site.services.releasing.quota(site.services.accounts.find("anna"), "commuters").charges == 1


def test_the_buttons_beside_the_form_work_with_javascript_too(page: Any, site: Any) -> None:
    page.goto(f"{site.address}/d/commuters/table?rows=mode&rows=district&columns=age&definition=pure&epsilon=0.5")
    page.click("#do-earlier-district")
    page.wait_for_url(re.compile(r"\?rows=district&rows=mode&columns=age&"))
    page.click("#do-swap")
    page.wait_for_url(re.compile(r"\?rows=age&columns=district&columns=mode&"))
    page.click("#do-remove-mode")
    page.wait_for_url(re.compile(r"\?rows=age&columns=district&"))
    page.click("#do-clear")
    page.wait_for_url(re.compile(r"/table\?definition="))
