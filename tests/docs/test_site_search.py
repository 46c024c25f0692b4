"""Questions of new users, typed into the search box of the site."""

import re
import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text())["question"]
RESULTS = 3


@pytest.fixture(scope="module")
def search(built: tuple[Path, float]) -> Iterator[Any]:
    """The search box of the site, in a browser."""
    chromium = Path("/usr/bin/chromium")
    if not chromium.exists():
        pytest.skip("Chromium is missing: apt-get install -y chromium")
    from playwright.sync_api import sync_playwright

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(built[0])))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        home = f"http://127.0.0.1:{server.server_port}/"

        def results(words: str) -> list[str]:
            page.goto(home + "index.html")
            page.fill(".md-search__input", words)
            page.wait_for_selector(".md-search-result__item", state="attached")
            links = page.locator(".md-search-result__item > a.md-search-result__link")
            found = [link.get_attribute("href") or "" for link in links.all()]
            # Sections of a page stand below it.
            return list(dict.fromkeys(re.split(r"\.html", address.removeprefix(home))[0] for address in found))

        yield results
        browser.close()
    server.shutdown()


def test_twenty_questions_are_asked() -> None:
    assert len(QUESTIONS) == 20
    for question in QUESTIONS:
        assert any((ROOT / "docs" / f"{page}.md").is_file() for page in question["pages"]), question


@pytest.mark.browser
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["words"])
def test_the_search_answers_in_its_first_results(question: dict[str, Any], search: Any) -> None:
    found = search(question["words"])[:RESULTS]
    assert set(found) & set(question["pages"]), f"found {found}"
