"""Which releases there are, folded from the ledger's own lines and kept up to date line by line.

A look-up costs one read of the ledger's head; only lines that are new since then are read. Documents are not held here.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import prod
from typing import Any

from dalenius.core.release import Status
from dalenius.errors import LedgerCorrupt, StorageError
from dalenius.ledger import schema
from dalenius.ledger.entry import Entry
from dalenius.ledger.ledger import connect
from dalenius.ledger.store import ConnectionLost, read_head
from dalenius.server import logs
from dalenius.server.errors import Unavailable
from dalenius.server.views import ReleaseView
from dalenius.spec.canonical import digest, method_of


@contextmanager
def outages() -> Iterator[None]:
    """Turn a database that went away into one refusal; the ledger finds its way back by itself."""
    try:
        yield
    except LedgerCorrupt as error:
        logs.event("ledger broken", 50, message=error.message)
        raise
    except ConnectionLost:
        raise Unavailable("The ledger cannot be reached now; try again.") from None
    except StorageError as error:
        raise Unavailable(error.message) from None


class Catalogue:
    def __init__(self, location: str) -> None:
        self._location = location
        self._lock = threading.Lock()
        self._store: Any = None
        self._seq = 0
        self._looked = float("-inf")
        self._charged: dict[str, ReleaseView] = {}
        self._keys: dict[str, str] = {}
        self._requests: dict[str, list[str]] = {}
        self._releases: dict[str, ReleaseView] = {}
        self._were_public: set[str] = set()

    def refreshed(self) -> Mapping[str, ReleaseView]:
        """Releases as of now, oldest first; do not change the mapping."""
        with self._lock, outages():
            try:
                if self._store is None:
                    self._store = connect(self._location)
                head = read_head(self._store)
                if head.seq > self._seq:
                    rows = self._store.query(schema.ENTRIES + " WHERE seq > ? ORDER BY seq", (self._seq,))
                    # Readers may be walking through the old mapping, so a new one takes its place.
                    self._releases = dict(self._releases)
                    for row in rows:
                        self._fold(Entry.read(row[4]))
            except Exception:
                self._drop()
                raise
            self._looked = time.monotonic()
            return self._releases

    def recent(self, seconds: float) -> Mapping[str, ReleaseView] | None:
        """Releases as of a moment ago, without waiting for anything; None if the last look is older."""
        return self._releases if time.monotonic() - self._looked < seconds else None

    def _drop(self) -> None:
        store, self._store = self._store, None
        with suppress(Exception):
            store.close()

    def by_key(self, key: str) -> ReleaseView | None:
        return self.refreshed().get(self._keys.get(key, ""))

    def by_request(self, digest: str) -> list[ReleaseView]:
        """Releases of one canonical request, under whatever rules and law, the oldest first."""
        releases = self.refreshed()
        return [releases[entry] for entry in self._requests.get(digest, ()) if entry in releases]

    def was_public(self, entry: str) -> bool:
        return entry in self._were_public

    def _fold(self, entry: Entry) -> None:
        body = entry.body
        if entry.kind == "charge":
            self._charged[entry.name] = _view(entry)
            self._keys[body["key"]] = entry.name
            self._requests.setdefault(digest(body["request"]), []).append(entry.name)
        elif entry.kind in ("release", "status"):
            name, status = body["entry"], str(body["status" if entry.kind == "release" else "to"])
            if status == Status.PUBLISHED:
                self._were_public.add(name)
            self._releases[name] = replace(self._charged[name], status=status)
        self._seq = entry.seq

    def close(self) -> None:
        with self._lock:
            self._drop()


def _cells(request: Mapping[str, Any]) -> int:
    axes = request.get("axes", [])
    return prod(len(a["cells"]) if "cells" in a else max(len(a.get("cuts", ())) - 1, 1) for a in axes)


def _view(entry: Entry) -> ReleaseView:
    body = entry.body
    request = body["request"]
    # A batch is one charge for several tables.
    tables = request.get("tables") or [request]
    names = tuple(str(axis.get("variable", "")) for axis in request.get("axes", []))
    measure = method_of(request)
    of = f" of {request['of']}" if request.get("of") else ""
    what = f"{measure}{of} by {', '.join(names)}" if names else f"{measure}{of}"
    return ReleaseView(
        entry=entry.name,
        dataset=str(body["dataset"]),
        version=str(body["version"]),
        population=entry.population,
        title=f"batch of {len(tables)} tables" if len(tables) > 1 else what,
        measure=measure,
        variables=names,
        cells=sum(map(_cells, tables)),
        definition=str(body["definition"]),
        budget=dict(body["budget"]),
        cost=dict(body["cost"]),
        status="",
        at=entry.at,
        analyst=str(body["analyst"]),
        request=request,
    )
