"""Where things stand: the price of a table is in sight at common sizes of a window."""

from typing import Any

import pytest

pytestmark = pytest.mark.browser

PREVIEWED = "/d/commuters/table?rows=mode&columns=age&definition=pure&epsilon=0.5"


@pytest.mark.parametrize(("width", "height"), [(1200, 800), (1366, 768), (1500, 900)])
def test_the_price_and_the_button_are_seen_without_scrolling(browser: Any, site: Any, width: int, height: int) -> None:
    for language in ("en", "de"):
        context = browser.new_context(viewport={"width": width, "height": height}, locale=language)
        page = signed_in(context, site)
        page.goto(f"{site.address}{PREVIEWED}")
        for part in ("#preview-h", "#release", "#epsilon"):
            box = page.locator(part).bounding_box()
            assert box is not None and box["y"] + box["height"] <= height, (part, box)
        assert not page.locator(".price-bar").is_visible()
        context.close()


@pytest.mark.parametrize("width", [390, 760, 1000])
def test_on_narrow_screens_the_price_stays_in_sight_and_leads_to_the_preview(
    browser: Any, site: Any, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, locale="en")
    page = signed_in(context, site)
    page.goto(f"{site.address}{PREVIEWED}")
    bar = page.locator(".price-bar").bounding_box()
    assert bar is not None and bar["y"] + bar["height"] <= 801
    assert "16 cells" in page.inner_text(".price-bar") and "ε = 0.5" in page.inner_text(".price-bar")
    shape, preview = page.locator(".outline").bounding_box(), page.locator("#preview").bounding_box()
    assert preview["y"] < shape["y"]
    page.click(".price-bar a")
    box = page.locator("#preview-h").bounding_box()
    assert box is not None and 0 <= box["y"] <= 800
    context.close()


def signed_in(context: Any, site: Any) -> Any:
    page = context.new_page()
    page.goto(f"{site.address}/sign-in")
    page.fill("#name", "anna")
    page.fill("#password", site.passwords["anna"])
    page.click("#sign-in")
    return page
