"""The books: everything that can be read from a ledger, at one moment and without changing it."""

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
from dalenius.ledger.account import Account, Purse
from dalenius.ledger.anchor import AnchorFile
from dalenius.ledger.charge import Registration, StoredRelease
from dalenius.ledger.draft import Head
from dalenius.ledger.entry import Entry, digest_of
from dalenius.ledger.events import Event, events_of_charge
from dalenius.ledger.odometer import OdometerReading, read_odometer
from dalenius.ledger.rows import Row, as_purse, as_registration, as_terms, stored
from dalenius.ledger.seal import Witness, only, scope_of
from dalenius.ledger.statement import FORMS, Statement, export_lines, make_statement
from dalenius.ledger.store import Lost, Store, compare, read_head
from dalenius.ledger.verify import VerifyReport, verify_store

T = TypeVar("T")
_MOST_LISTED = 5000
# Where the rows of the state stand in a row of documents.
_RELEASE = slice(7, 7 + len(schema.RELEASES_TABLE.stored))
_CHARGE = slice(_RELEASE.stop, None)


def _is_listed(account: Account) -> bool:
    """Whether there are charges, and not too many to read them all."""
    return 0 < account.entries <= _MOST_LISTED


class Books:
    """The reading side of a ledger, over a connection of its own."""

    def __init__(self, reader: Store, anchor: AnchorFile, wait_seconds: float) -> None:
        self.anchor = anchor
        self._reader = reader
        self._wait_seconds = wait_seconds
        self._reading = threading.Lock()
        self.witness = Witness(anchor, lambda: self.name)

    def patiently(self, work: Callable[[], T]) -> T:
        """Do something that may be repeated safely, again if the connection breaks meanwhile."""
        patience = time.monotonic() + max(self._wait_seconds, 1.0)
        while True:
            try:
                return work()
            except Lost as error:
                if time.monotonic() > patience:
                    raise StorageError("The ledger's database cannot be reached.") from error
                time.sleep(0.1)

    def look(self, work: Callable[[Store], T]) -> T:
        """Read something, one reader at a time."""
        with self._reading:
            return self.patiently(lambda: work(self._reader))

    def ask(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        """The rows of a query."""
        return self.look(lambda reader: list(reader.ask(sql, parameters)))

    def state(self, tables: Mapping[str, tuple[str, tuple[Any, ...]]], *scopes: bytes) -> dict[str, list[Row]]:
        """Rows of the state by table, each by its condition, compared with what the head names.

        `LedgerCorrupt` if one of them was changed outside the ledger, or one of those under the scopes is missing.
        """

        def read(reader: Store) -> dict[str, list[Row]]:
            with reader.snapshot():
                queries = [(schema.STATE[t].select + where, values) for t, (where, values) in tables.items()]
                head, *answers = reader.ask_all([(schema.SEALED_HEAD, ()), *queries])
                rows = dict(zip(tables, answers, strict=True))
                compare(reader, only(head), rows, scopes, self.witness)
                return rows

        return self.look(read)

    @cached_property
    def name(self) -> str:
        """The digest of the first line, by which the anchor knows this ledger."""
        return str(self.first_line()[6])

    def first_line(self) -> Any:
        """The row that says who opened the ledger, and with which key."""
        rows = self.ask(schema.ENTRIES + " WHERE seq = 1")
        if not rows:
            raise LedgerCorrupt("The ledger's first line is missing.")
        return rows[0]

    @property
    def head(self) -> Head:
        """The last line of the chain."""
        return self.look(read_head)

    def account(self, population: str) -> Account:
        """The master account as it stands."""
        of_it = (" WHERE population = ?", (population,))
        scopes = [scope_of(table, population) for table in (schema.TERMS_TABLE, schema.PURSES_TABLE)]
        rows = self.state({"terms": of_it, "purses": of_it}, *scopes)
        if not rows["terms"]:
            raise UnknownName.among("population", population, self.populations())
        purses = sorted(map(as_purse, rows["purses"]), key=lambda purse: purse.key)
        return Account.of(as_terms(rows["terms"][0]), tuple(purses))

    def populations(self) -> list[str]:
        """Populations that were granted a budget."""
        rows = self.state({"terms": ("", ())}, schema.TERMS_TABLE.tag)
        return sorted(row[0] for row in rows["terms"])

    def purses(self) -> list[Purse]:
        """Every purse of every population."""
        rows = self.state({"purses": ("", ())}, schema.PURSES_TABLE.tag)
        return list(map(as_purse, rows["purses"]))

    def check_value(self, population: str) -> str | None:
        """The value by which a population's secret is recognised, if there is one."""
        of_it = (" WHERE population = ?", (population,))
        rows = self.state({"checks": of_it}, scope_of(schema.CHECKS_TABLE, population))["checks"]
        return str(rows[0][1]) if rows else None

    def _registrations(self, dataset: str) -> list[Registration]:
        of_it = (" WHERE dataset = ?", (dataset,))
        rows = self.state({"registrations": of_it}, scope_of(schema.REGISTRATIONS_TABLE, dataset))
        return list(map(as_registration, rows["registrations"]))

    def entries(self, population: str | None = None) -> list[Entry]:
        """Lines in the order of the chain."""
        if population is None:
            rows = self.ask(schema.ENTRIES + " ORDER BY seq")
        else:
            rows = self.ask(schema.ENTRIES + " WHERE population = ? ORDER BY seq", (population,))
        return [Entry.read(row[4]) for row in rows]

    def notes(self, population: str, kind: str) -> list[Entry]:
        """Notes of one kind about a population, in the order of the chain."""
        rows = self.ask(schema.ENTRIES + " WHERE population = ? AND kind = ? ORDER BY seq", (population, "note"))
        return [entry for row in rows if (entry := Entry.read(row[4])).body.get("kind") == kind]

    def _declared_overlaps(self) -> list[Entry]:
        rows = self.ask(schema.ENTRIES + " WHERE kind = ? ORDER BY seq", ("overlap",))
        return [Entry.read(row[4]) for row in rows]

    def _paid_late(self, population: str) -> list[Entry]:
        """Declarations by which this account paid for what another one had spent before."""
        return [e for e in self._declared_overlaps() if any(population == p[0] for p in e.body["past"])]

    def overlaps(self, population: str) -> tuple[str, ...]:
        """Populations that were declared to share persons with this one."""
        pairs = [(entry.population, str(entry.body["with"])) for entry in self._declared_overlaps()]
        return tuple(sorted({b if a == population else a for a, b in pairs if population in (a, b)}))

    def _paid_for_others(self, population: str) -> list[Entry]:
        """Charges of other populations that this one's account paid as well."""
        entries = [entry for other in self.overlaps(population) for entry in self.entries(other)]
        return [e for e in entries if e.kind == "charge" and population in e.body.get("overlaps", ())]

    def registration(self, dataset: str, version: str) -> Registration | None:
        """What was registered, if anything."""
        return next((one for one in self._registrations(dataset) if one.version == version), None)

    def is_registered(self, dataset: str) -> bool:
        """Whether any version of a data set is registered."""
        return bool(self._registrations(dataset))

    def release(self, entry: str) -> StoredRelease:
        """The stored release of an entry, whatever its status."""
        releases = self._documents("r.entry = ?", entry)
        if not releases:
            raise UnknownName(f"There is no release under the entry {entry!r}.", received=entry)
        return releases[0]

    def _documents(self, where: str, *values: str) -> list[StoredRelease]:
        """Stored releases in the order in which they were charged, with the rows that say who may see them."""

        def read(reader: Store) -> list[Row]:
            with reader.snapshot():
                head, rows = reader.ask_all(
                    [(schema.SEALED_HEAD, ()), (f"{schema.DOCUMENTS} WHERE {where} ORDER BY c.seq", values)]
                )
                released = {"releases": [row[_RELEASE] for row in rows], "charges": [row[_CHARGE] for row in rows]}
                compare(reader, only(head), released, (), self.witness)
                return rows

        return [self.checked(row) for row in self.look(read)]

    @staticmethod
    def checked(row: Any) -> StoredRelease:
        """A stored release as it was stored, or `LedgerCorrupt`."""
        release = stored(row)
        if digest_of(release.document) != row[6]:
            raise LedgerCorrupt("A stored release is not the one that was stored.", entry=release.entry)
        return release

    def find(self, key: str) -> StoredRelease | None:
        """The published release of a memo key; drafts, embargoed and withdrawn ones are not found."""
        releases = self._documents("r.key = ? AND r.status = ?", key, str(Status.PUBLISHED))
        return releases[0] if releases else None

    def is_stored(self, key: str) -> bool:
        """Whether a release is stored under a memo key, whatever its status."""
        of_it = (" WHERE key = ?", (key,))
        return bool(self.state({"releases": of_it, "charges": of_it})["releases"])

    def releases(self, population: str | None = None, status: str | None = None) -> list[StoredRelease]:
        """Stored releases in the order in which they were charged."""
        clauses, values = ["1 = 1"], []
        for column, value in (("c.population", population), ("r.status", status)):
            if value is not None:
                clauses.append(f"{column} = ?")
                values.append(str(value))
        return self._documents(" AND ".join(clauses), *values)

    def statement(self, population: str, analyst: str | None = None) -> Statement:
        """Movements and balances; an analyst's own statement shows nobody else's."""
        late = [entry for entry in self._paid_late(population) if entry.population != population]
        entries = [*self.entries(population), *self._paid_for_others(population), *late]
        return make_statement(sorted(entries, key=lambda entry: entry.seq), self.account(population), analyst)

    def odometer(self, population: str, delta: object = "1e-6") -> OdometerReading:
        """What was charged to the master account so far, as a fixed plan and as a running bound, and its meaning."""
        account = self.account(population)
        events = self._events(population) if _is_listed(account) else None
        return read_odometer(account, rational(delta, "delta"), events=events)

    def _events(self, population: str) -> list[Event] | None:
        """What the charges on the master page say was done; None if one of them states a rho alone, as the past of
        another account does.
        """
        if self._paid_late(population):
            return None
        rows = self.ask(schema.ENTRIES + " WHERE population = ? AND kind = ?", (population, "charge"))
        bodies = [Entry.read(row[4]).body for row in rows]
        bodies += [entry.body for entry in self._paid_for_others(population)]
        stated = [events_of_charge(body) for body in bodies if body["page"] == MASTER]
        if any(events is None for events in stated):
            return None
        return [event for events in stated if events is not None for event in events]

    def export(self, form: str = "json", population: str | None = None) -> str:
        """Every line as `json`, `jsonl` or `csv`."""
        if form not in FORMS:
            raise UnknownName.among("format", form, FORMS)
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
        return self.look(lambda reader: verify_store(reader, lines, key, heads, witness))
