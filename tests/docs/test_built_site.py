"""The built site: strict and quick, nothing from other hosts, no dead link, and every page within three clicks."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
MOST_SECONDS, MOST_CLICKS = 60, 3
# What a reader can press on a page: its text, the bar of sections, the contents of the section that is open.
_ADDRESSES = {("a", "href"), ("img", "src"), ("script", "src"), ("link", "href")}


class Links(HTMLParser):
    """Addresses and names of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if (tag, key) in _ADDRESSES and value is not None:
                self.found.append((tag, value))
            if key in ("id", "name") and value:
                self.names.add(value)


@pytest.fixture(scope="module")
def pages(built: tuple[Path, float]) -> dict[Path, Links]:
    return {path: Links(path.read_text()) for path in built[0].rglob("*.html") if path.name != "404.html"}


def _target(page: Path, address: str) -> tuple[Path, str]:
    place, _, name = address.partition("#")
    return ((page.parent / place).resolve() if place else page), name


def _is_outside(address: str) -> bool:
    return bool(re.match(r"[a-z]+:", address))


def test_the_site_is_built_strictly_within_a_minute(built: tuple[Path, float]) -> None:
    assert built[1] < MOST_SECONDS


def test_nothing_is_read_from_another_host(built: tuple[Path, float], pages: dict[Path, Links]) -> None:
    assets = [address for links in pages.values() for tag, address in links.found if tag != "a"]
    assert assets and not [address for address in assets if _is_outside(address) or address.startswith("//")]
    for style in built[0].rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", style.read_text()), style


def test_no_link_is_dead(pages: dict[Path, Links]) -> None:
    dead = []
    for page, links in pages.items():
        for _, address in links.found:
            if not _is_outside(address):
                place, name = _target(page, address)
                is_there = place.is_file() and (not name or place not in pages or name in pages[place].names)
                dead += [] if is_there else [f"{page.name}: {address}"]
    assert not dead


def test_every_page_is_three_clicks_from_the_first(built: tuple[Path, float], pages: dict[Path, Links]) -> None:
    """Contents are pruned to the open section, so a click is one that a reader makes."""
    reached = near = {built[0].resolve() / "index.html"}
    resolved = {page.resolve(): links for page, links in pages.items()}
    for _ in range(MOST_CLICKS):
        near = {
            _target(page, address)[0]
            for page in near
            for tag, address in resolved[page].found
            if tag == "a" and not _is_outside(address)
        } & set(resolved) - reached
        reached = reached | near
    assert sorted(set(resolved) - reached) == []
