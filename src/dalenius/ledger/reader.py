"""Everything that can be read from a ledger, at one moment and without changing it."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from dalenius.core.budget import MASTER
from dalenius.core.rationals import rational
from dalenius.core.release import Status
from dalenius.errors import LedgerCorrupt, StorageError, UnknownName
from dalenius.ledger import schema
from dalenius.ledger.account import Account, Balance
from dalenius.ledger.anchor import AnchorFile
from dalenius.ledger.charge import Registration, StoredRelease
from dalenius.ledger.draft import Head
from dalenius.ledger.entry import Entry, digest_of
from dalenius.ledger.events import Event, events_of_charge
from dalenius.ledger.odometer import OdometerReading, read_odometer
from dalenius.ledger.rows import Row, as_balance, as_terms
from dalenius.ledger.seal import Witness, only, scope_of
from dalenius.ledger.statement import Statement, check_form, export_lines, make_statement
from dalenius.ledger.store import ConnectionLost, Store, compare, read_head
from dalenius.ledger.verify import VerifyReport, verify_store

T = TypeVar("T")
_MOST_LISTED = 5000
# Where the rows of the state stand in a row of documents.
_RELEASE = slice(7, 7 + len(schema.RELEASES_TABLE.stored))
_CHARGE = slice(_RELEASE.stop, None)


class LedgerReader:
    """The reading side of a ledger, over a connection of its own."""

    def __init__(self, store: Store, anchor: AnchorFile, wait_seconds: float) -> None:
        self.anchor = anchor
        self._store = store
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self.witness: Witness = Witness(anchor, lambda: self.name)

    def retry(self, work: Callable[[], T]) -> T:
        """Do something that may be repeated, and repeat it while the connection is lost, for at least a second."""
        deadline = time.monotonic() + max(self._wait_seconds, 1.0)
        while True:
            try:
                return work()
            except ConnectionLost as error:
                if time.monotonic() > deadline:
                    raise StorageError("The ledger's database cannot be reached.") from error
                time.sleep(0.1)

    def read(self, work: Callable[[Store], T]) -> T:
        """Read something from the store, one thread at a time."""
        with self._lock:
            return self.retry(lambda: work(self._store))

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        return self.read(lambda store: list(store.query(sql, parameters)))

    def state(self, tables: Mapping[str, tuple[str, tuple[Any, ...]]], *scopes: bytes) -> dict[str, list[Row]]:
        """Return rows of the state by table, each by its condition, compared with what the head names.

        Raises `LedgerCorrupt` if one was changed outside the ledger, or one of those under the scopes is missing.
        """

        def read(store: Store) -> dict[str, list[Row]]:
            with store.snapshot():
                queries = [(schema.STATE[t].select + where, values) for t, (where, values) in tables.items()]
                head, *results = store.query_all([(schema.SEALED_HEAD, ()), *queries])
                rows = dict(zip(tables, results, strict=True))
                compare(store, only(head), rows, scopes, self.witness)
                return rows

        return self.read(read)

    @cached_property
    def name(self) -> str:
        """Digest of the first line, by which the anchor knows this ledger."""
        return str(self.first_line()[6])

    def first_line(self) -> Any:
        """Return the row that names who opened the ledger, and with which key."""
        rows = self.query(schema.ENTRIES + " WHERE seq = 1")
        if not rows:
            raise LedgerCorrupt("The ledger's first line is missing.")
        return rows[0]

    @property
    def head(self) -> Head:
        return self.read(read_head)

    def account(self, population: str) -> Account:
        """Return the master account of a population, with all balances."""
        where = (" WHERE population = ?", (population,))
        scopes = [scope_of(table, population) for table in (schema.TERMS_TABLE, schema.BALANCES_TABLE)]
        rows = self.state({"terms": where, "balances": where}, *scopes)
        if not rows["terms"]:
            raise UnknownName.among("population", population, self.populations())
        balances = sorted(map(as_balance, rows["balances"]), key=lambda balance: balance.key)
        return Account.of(as_terms(rows["terms"][0]), tuple(balances))

    def populations(self) -> list[str]:
        """Return the populations that were granted a budget."""
        rows = self.state({"terms": ("", ())}, schema.TERMS_TABLE.tag)
        return sorted(row[0] for row in rows["terms"])

    def balances(self) -> list[Balance]:
        rows = self.state({"balances": ("", ())}, schema.BALANCES_TABLE.tag)
        return list(map(as_balance, rows["balances"]))

    def check_value(self, population: str) -> str | None:
        """Return the value by which a population's secret is recognised, or None."""
        where = (" WHERE population = ?", (population,))
        rows = self.state({"checks": where}, scope_of(schema.CHECKS_TABLE, population))["checks"]
        return str(rows[0][1]) if rows else None

    def _registrations(self, dataset: str) -> list[Registration]:
        where = (" WHERE dataset = ?", (dataset,))
        rows = self.state({"registrations": where}, scope_of(schema.REGISTRATIONS_TABLE, dataset))
        return [Registration(*row[:6]) for row in rows["registrations"]]

    def registration(self, dataset: str, version: str) -> Registration | None:
        """Return the file that is registered as a version, or None."""
        return next((one for one in self._registrations(dataset) if one.version == version), None)

    def is_registered(self, dataset: str) -> bool:
        """Whether any version of a data set is registered."""
        return bool(self._registrations(dataset))

    def _entries(self, **columns: str) -> list[Entry]:
        where = f" WHERE {' AND '.join(f'{column} = ?' for column in columns)}" if columns else ""
        rows = self.query(f"{schema.ENTRIES}{where} ORDER BY seq", tuple(columns.values()))
        return [Entry.read(row[4]) for row in rows]

    def entries(self, population: str | None = None) -> list[Entry]:
        """Return all lines, or those of a population, in the order of the chain."""
        return self._entries() if population is None else self._entries(population=population)

    def notes(self, population: str, kind: str) -> list[Entry]:
        """Return notes of one kind about a population, in the order of the chain."""
        return [e for e in self._entries(population=population, kind="note") if e.body.get("kind") == kind]

    def overlaps(self, population: str) -> tuple[str, ...]:
        """Return the populations that were declared to share persons with this one."""
        pairs = [(entry.population, str(entry.body["with"])) for entry in self._entries(kind="overlap")]
        return tuple(sorted({b if a == population else a for a, b in pairs if population in (a, b)}))

    def _paid_late(self, population: str) -> list[Entry]:
        """Return the declarations that charged this population what another one had spent before."""
        return [e for e in self._entries(kind="overlap") if any(population == p[0] for p in e.body["past"])]

    def _paid_for_others(self, population: str) -> list[Entry]:
        """Return charges about overlapping populations that this account paid for as well."""
        charges = [e for other in self.overlaps(population) for e in self._entries(population=other, kind="charge")]
        return [e for e in charges if population in e.body.get("overlaps", ())]

    def _documents(self, where: str, *values: str) -> list[StoredRelease]:
        """Return stored releases in the order of their charges, compared with the state."""

        def read(store: Store) -> list[Row]:
            with store.snapshot():
                head, rows = store.query_all(
                    [(schema.SEALED_HEAD, ()), (f"{schema.DOCUMENTS} WHERE {where} ORDER BY c.seq", values)]
                )
                released = {"releases": [row[_RELEASE] for row in rows], "charges": [row[_CHARGE] for row in rows]}
                compare(store, only(head), released, (), self.witness)
                return rows

        return [self.checked(row) for row in self.read(read)]

    @staticmethod
    def checked(row: Any) -> StoredRelease:
        """Return a stored release; `LedgerCorrupt` if its document is not the one that was stored."""
        entry, key, content, status, population, analyst, digest = row[:7]
        # A document that was turned into text is recognised by its digest.
        document = content.encode() if isinstance(content, str) else bytes(content)
        if digest_of(document) != digest:
            raise LedgerCorrupt("A stored release is not the one that was stored.", entry=entry)
        return StoredRelease(
            entry=entry, key=key, document=document, status=status, population=population, analyst=analyst
        )

    def release(self, entry: str) -> StoredRelease:
        """Return the stored release of an entry, whatever its status."""
        releases = self._documents("r.entry = ?", entry)
        if not releases:
            raise UnknownName(f"There is no release under the entry {entry!r}.", received=entry)
        return releases[0]

    def find(self, key: str) -> StoredRelease | None:
        """Return the published release of a memo key; not drafts, embargoed or withdrawn ones."""
        releases = self._documents("r.key = ? AND r.status = ?", key, str(Status.PUBLISHED))
        return releases[0] if releases else None

    def is_stored(self, key: str) -> bool:
        """Whether a release is stored under a memo key, whatever its status."""
        where = (" WHERE key = ?", (key,))
        return bool(self.state({"releases": where, "charges": where})["releases"])

    def releases(self, population: str | None = None, status: str | None = None) -> list[StoredRelease]:
        """Return stored releases in the order in which they were charged."""
        clauses, values = ["1 = 1"], []
        for column, value in (("c.population", population), ("r.status", status)):
            if value is not None:
                clauses.append(f"{column} = ?")
                values.append(str(value))
        return self._documents(" AND ".join(clauses), *values)

    def statement(self, population: str, analyst: str | None = None) -> Statement:
        """Return movements and balances; an analyst's own statement shows nobody else's."""
        late = [entry for entry in self._paid_late(population) if entry.population != population]
        entries = [*self.entries(population), *self._paid_for_others(population), *late]
        return make_statement(sorted(entries, key=lambda entry: entry.seq), self.account(population), analyst)

    def odometer(self, population: str, delta: object = "1e-6") -> OdometerReading:
        """Return what was charged to the master account, as a fixed plan and as a running bound, and its meaning."""
        account = self.account(population)
        events = self._events(population) if 0 < account.charges <= _MOST_LISTED else None
        return read_odometer(account, rational(delta, "delta"), events=events)

    def _events(self, population: str) -> list[Event] | None:
        """Return what the charges to the master account did; None if one of them states a rho alone.

        What an account paid for another one's past is stated as a rho alone.
        """
        if self._paid_late(population):
            return None
        charges = [*self._entries(population=population, kind="charge"), *self._paid_for_others(population)]
        stated = [events_of_charge(charge.body) for charge in charges if charge.body["account"] == MASTER]
        if any(events is None for events in stated):
            return None
        return [event for events in stated if events is not None for event in events]

    def export(self, form: str = "json", population: str | None = None) -> str:
        check_form(form)
        return export_lines(self.entries(population), form)

    def verify(
        self, anchor: str | Path | None = None, *, heads: Iterable[str] = (), is_anchored: bool = True
    ) -> VerifyReport:
        """Recompute everything. `heads` are heads kept elsewhere; without the anchor less can be known."""
        lines = None
        if is_anchored:
            # The anchor is read first: a segment that is written meanwhile is then in the store already.
            lines = self.anchor.at(Path(anchor) if anchor else None).lines(self.name)
        key = self.anchor.public_key
        name, witness = self.name, Witness(self.anchor, lambda: name)
        return self.read(lambda store: verify_store(store, lines, key, heads, witness))
