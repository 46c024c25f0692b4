"""The built pages of the documentation: no link is dead, and search finds them by their words."""

import importlib.util
from pathlib import Path
from typing import Any

TOOL = Path(__file__).parents[3] / "tools" / "docs.py"


def test_search_finds_pages_by_their_words(browser: Any, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("tools_docs", TOOL)
    assert spec is not None and spec.loader is not None
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    assert docs.main(tmp_path / "docs") == 0, "a link is dead"
    page = browser.new_page()
    page.goto((tmp_path / "docs" / "reference" / "library.html").as_uri())
    page.fill("#search", "negative counts")
    results = page.locator("#results a")
    results.filter(has_text="Read negative counts").wait_for()
    results.filter(has_text="Read negative counts").click()
    assert page.locator("h1").inner_text() == "Read negative counts"
    page.fill("#search", "xyzzy <b>")
    page.get_by_text("No page").wait_for()
    page.close()
