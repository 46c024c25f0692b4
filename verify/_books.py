"""Simulated releases that go the whole way: rows registered, a request planned, charged to a ledger on disk and released."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from dalenius import Curator, Ledger
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release

PLENTY = {"budget": {"rho": 1000}}


class Books:
    """One ledger in a folder of its own; every set of rows is a population of its own in it."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory()
        self._ledger = Ledger.open(Path(self._folder.name) / "ledger.sqlite")
        self.releases = 0

    def __enter__(self) -> "Books":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ledger.close()
        self._folder.cleanup()

    def released(
        self,
        rows: Mapping[str, Any],
        dataset: Mapping[str, Any],
        request: Mapping[str, Any],
        policy: Mapping[str, Any] | None = None,
    ) -> Release:
        """The answer of the ledger for these rows, with noise that follows from the number of the release."""
        self.releases += 1
        name = f"simulated-{self.releases}"
        declared = {**dataset, "dataset": {**dataset["dataset"], "name": name, "population": name}}
        rng, rules = RecordedRandomness(name), PLENTY | dict(policy or {})
        with Curator.open(rows, declared, ledger=self._ledger, policy=rules, rng=rng) as curator:
            curator.register(by="verify")
            return curator.release(dict(request))


def share_of(runs: int, settings: int, place: int) -> int:
    """How many of `runs` releases the setting at a place makes, where all settings together make them all.

    >>> [share_of(50, 4, place) for place in range(4)]
    [13, 13, 12, 12]
    """
    return runs // settings + (place < runs % settings)
