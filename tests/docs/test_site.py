"""The built pages: search finds them, the library page has every public name, and no link is dead."""

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import dalenius
from dalenius import inference

TOOLS = Path(__file__).parents[2] / "tools"
CHROMIUM = Path("/usr/bin/chromium")


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tools_{name}", TOOLS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "docs"
    assert tool("docs").main(out) == 0, "a link is dead"
    return out


def test_every_public_name_stands_on_the_library_page() -> None:
    page = tool("library_page").made()
    for name in dalenius.__all__:
        assert name.startswith("__") or f"## {name}\n" in page or f"## dalenius.{name}\n" in page, name
    for name in inference.__all__:
        assert f"### inference.{name}\n" in page
        assert inspect.getdoc(getattr(inference, name)), f"{name} says nothing"
    assert "0x" not in page, "an address of this machine"


def test_names_that_are_typed_by_people_have_typed_parameters_and_results() -> None:
    calls = [
        dalenius.table,
        dalenius.save,
        dalenius.load,
        *(getattr(inference, n) for n in inference.__all__),
    ]
    for call in (c for c in calls if inspect.isfunction(c)):
        signature = inspect.signature(call)
        assert signature.return_annotation is not inspect.Signature.empty, call.__name__
        for parameter in signature.parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{call.__name__}: {parameter.name}"


@pytest.mark.browser
def test_search_finds_pages_by_their_words(site: Path) -> None:
    if not CHROMIUM.exists():
        pytest.fail("Chromium is missing: apt-get install -y chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto((site / "reference" / "library.html").as_uri())
        page.fill("#search", "negative counts")
        found = page.locator("#results a")
        assert "Read negative counts" in found.all_inner_texts()
        found.filter(has_text="Read negative counts").click()
        assert page.locator("h1").inner_text() == "Read negative counts"
        page.fill("#search", "xyzzy <b>")
        assert "No page" in page.locator("#results").inner_text()
        browser.close()
