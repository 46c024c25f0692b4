"""The server's own store, opened by several workers."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dalenius.server.store import StateStore


def test_a_new_store_is_opened_by_many_at_once(tmp_path: Path) -> None:
    """SQLite does not wait where two change the journal of a new file."""
    for number in range(20):
        location = str(tmp_path / f"store{number}.sqlite")
        with ThreadPoolExecutor(8) as pool:
            for opened in list(pool.map(StateStore, [location] * 8)):
                opened.close()
