"""Fixtures for journeys: a server, a browser, and three ways of using a page."""

from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def _load(name: str) -> ModuleType:
    """A helper beside this file; test folders are no packages."""
    spec = spec_from_file_location(f"browser_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SITE = _load("site")
WAYS = _load("ways")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's own Chromium."""
    if not CHROMIUM.exists():
        pytest.fail("Chromium is missing: apt-get install -y chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Any]:
    """A server of its own for each test."""
    running = SITE.start(tmp_path)
    yield running
    running.stop()


@pytest.fixture(params=["mouse", "keyboard", "without JavaScript"])
def visit(request: pytest.FixtureRequest, browser: Any, site: Any) -> Iterator[Any]:
    """Opens pages in one of three ways; at the end, no page may have complained or broken the content policy."""
    visitors: list[Any] = []

    def enter(name: str = "") -> Any:
        visitor = WAYS.visitor(request.param, browser, site.address)
        visitors.append(visitor)
        if name:
            visitor.sign_in(name, SITE.PASSWORDS[name])
        return visitor

    yield enter
    complaints = [text for visitor in visitors for text in visitor.complaints]
    for visitor in visitors:
        visitor.close()
    assert complaints == []
