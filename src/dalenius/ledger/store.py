"""What both stores share: load the touched part of the state, and apply a drafted batch or none of it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Protocol

from dalenius.errors import DaleniusError, LedgerCorrupt
from dalenius.ledger import schema
from dalenius.ledger.account import Purse
from dalenius.ledger.draft import Draft, Head, Needs
from dalenius.ledger.entry import Entry
from dalenius.ledger.rows import Row, as_charge, as_purse, as_registration, as_release, as_terms
from dalenius.ledger.state import SPENT, State

_CHUNK = 200

Query = tuple[str, Row]
Statement = tuple[str, Sequence[Row]]


class Raced(Exception):
    """A statement did not touch what it should: somebody else was first. The batch is rolled back and redone."""


class Lost(Exception):
    """The connection broke; whether the last batch was written is not known until somebody looks."""


class Store(Protocol):
    """A place that keeps the ledger: how a call travels differs, the hand-written SQL is the same."""

    def transaction(self) -> AbstractContextManager[None]:
        """A durable write transaction; on any exception nothing of it remains."""

    def snapshot(self) -> AbstractContextManager[None]:
        """A read transaction in which everything is seen at one moment."""

    def run(self, statements: Sequence[Statement]) -> list[int]:
        """Execute each for each of its rows of parameters, inside the transaction; how many rows each touched."""

    def ask(self, sql: str, parameters: Row = ()) -> list[Row]:
        """Rows of a query, inside the transaction or snapshot if there is one."""

    def ask_all(self, queries: Sequence[Query]) -> list[list[Row]]:
        """Rows of several queries, in one journey where the store is far away."""

    def check(self) -> None:
        """Raise `LedgerCorrupt` where the connection no longer leads to the store that others see."""

    def fresh(self) -> AbstractContextManager["Store"]:
        """The same store through another connection, which has seen nothing of what this one wrote."""

    def close(self) -> None:
        """Let go of the connection."""


def read_head(store: Store) -> Head:
    """The last line."""
    return _as_head(store.ask(schema.HEAD))


def _as_head(rows: Sequence[Row]) -> Head:
    if len(rows) != 1:
        raise LedgerCorrupt("The ledger has no head.")
    seq, digest = rows[0]
    return Head(int(seq), str(digest))


def read_back(store: Store, lines: Sequence[Entry]) -> None:
    """Raise `LedgerCorrupt` unless a segment that was written stands there for whoever looks from outside."""
    rows: list[Row] = []
    # A connection that finds no log, or that of another store, cannot read at all.
    with suppress(DaleniusError), store.fresh() as witness:
        rows = witness.ask(schema.DIGESTS, (lines[0].seq, lines[-1].seq))
    if [tuple(row) for row in rows] != [(line.seq, line.digest) for line in lines]:
        raise LedgerCorrupt(
            "A line that was written to the ledger could not be read back through a new connection, so nothing is released."
            " Open the ledger again; `dalenius ledger verify` compares it with its anchor."
        )


def _where(sql: str, columns: Sequence[str], values: Iterable[Row]) -> list[Query]:
    """Queries for the rows whose columns equal one of the given tuples."""
    wanted = sorted(set(map(tuple, values)))
    queries: list[Query] = []
    for start in range(0, len(wanted), _CHUNK):
        part = wanted[start : start + _CHUNK]
        if len(columns) == 1:
            clause = f"{columns[0]} IN ({', '.join('?' * len(part))})"
        else:
            clause = " OR ".join([f"({' AND '.join(f'{column} = ?' for column in columns)})"] * len(part))
        queries.append((f"{sql} WHERE {clause}", [value for row in part for value in row]))
    return queries


def load(store: Store, needs: Needs) -> tuple[State, Head]:
    """The part of the state that a batch must see, and the head it will follow."""
    keys, entries = [(key,) for key in needs.keys], [(entry,) for entry in needs.entries]
    asked: dict[str, list[Query]] = {
        # The head comes first: had anything below changed after it was read, the batch could not move it.
        "head": [(schema.HEAD, ())],
        "terms": _where(schema.TERMS, ["population"], zip(needs.populations)),
        "checks": _where(schema.CHECKS, ["population"], zip(needs.checks)),
        "purses": _where(schema.PURSES, ["population", "page", "kind", "name"], needs.purses),
        "charges": _where(schema.CHARGES, ["key"], keys) + _where(schema.CHARGES, ["entry"], entries),
        "releases": _where(schema.RELEASES, ["key"], keys) + _where(schema.RELEASES, ["entry"], entries),
        "registrations": _where(schema.REGISTRATIONS, ["dataset"], zip(needs.datasets)),
        "own": _where(schema.ENTRIES, ["population", "kind"], [(p, k) for p in needs.pasts for k in SPENT]),
    }
    answers = iter(store.ask_all([query for queries in asked.values() for query in queries]))
    rows = {name: [row for _ in queries for row in next(answers)] for name, queries in asked.items()}
    head, own = _as_head(rows.pop("head")), rows.pop("own")
    state = _as_state(rows)
    for row in own:
        state.fold_own(Entry.read(row[4]))
    return state, head


def load_all(store: Store) -> State:
    """All of it, for verification."""
    tables = {
        "terms": schema.TERMS,
        "checks": schema.CHECKS,
        "purses": schema.PURSES,
        "charges": schema.CHARGES,
        "releases": schema.RELEASES,
        "registrations": schema.REGISTRATIONS,
    }
    return _as_state({name: store.ask(sql) for name, sql in tables.items()})


def _as_state(rows: Mapping[str, Sequence[Row]]) -> State:
    state = State()
    state.terms = {row[0]: as_terms(row) for row in rows["terms"]}
    state.checks = {row[0]: row[1] for row in rows["checks"]}
    state.purses = {purse.key: purse for purse in map(as_purse, rows["purses"])}
    state.charges = {charge.key: charge for charge in map(as_charge, rows["charges"])}
    state.releases = {release.entry: release for release in map(as_release, rows["releases"])}
    for registration in map(as_registration, rows["registrations"]):
        state.registrations[registration.dataset, registration.version] = registration
        state.owners[registration.dataset] = registration.population
    return state


def apply(store: Store, draft: Draft) -> None:
    """Write what the batch changed. Each statement holds its own invariant; `Raced` if one of them did not."""
    statements = [(sql, rows) for sql, rows in _statements(draft) if rows]
    for (sql, rows), touched in zip(statements, store.run(statements), strict=True):
        # Every row of parameters must touch exactly one row of the store.
        if touched != len(rows):
            raise Raced(sql.split(maxsplit=1)[0])


def _statements(draft: Draft) -> list[Statement]:
    old, new = draft.before, draft.state
    changed = [t for name, t in new.terms.items() if old.terms.get(name) != t]
    fresh = [r for entry, r in new.releases.items() if entry not in old.releases]
    moved = [(r, old.releases.get(e)) for e, r in new.releases.items()]
    registered = [r for place, r in new.registrations.items() if place not in old.registrations]
    return [
        (
            schema.PUT_TERMS,
            [(t.population, str(t.relation), t.approval_above, int(t.is_scheduled)) for t in changed],
        ),
        *_purse_statements(old, new),
        (
            schema.ADD_ENTRY,
            [(e.seq, e.name, e.kind, e.population, e.line, e.previous, e.digest) for e in draft.lines],
        ),
        *_charge_statements(draft),
        (
            schema.ADD_RELEASE,
            [(r.entry, r.key, r.digest, r.status, draft.documents[r.entry]) for r in fresh],
        ),
        (schema.SET_STATUS, [(r.status, r.entry, was.status) for r, was in moved if was and was != r]),
        (
            schema.ADD_REGISTRATION,
            [
                (r.dataset, r.version, r.population, r.fingerprint, r.domain_digest, r.entry)
                for r in registered
            ],
        ),
        (schema.ADD_CHECK, [(p, v) for p, v in new.checks.items() if p not in old.checks]),
        (schema.MOVE_HEAD, [(draft.tip.seq, draft.tip.digest, draft.head.seq, draft.head.digest)]),
    ]


def _purse_statements(old: State, new: State) -> list[Statement]:
    """Limits first, then payments: what a batch spends from one purse is one conditional statement."""
    opened, limits, payments = [], [], []
    # A fixed order of the rows keeps two writers from waiting for each other in a circle.
    for key in sorted(new.purses):
        purse, was = new.purses[key], old.purses.get(key)
        if purse == was:
            continue
        if was is None:
            opened.append((*key, purse.limit_rho, purse.limit_delta))
            was = Purse(key=key, limit_rho=purse.limit_rho, limit_delta=purse.limit_delta)
        elif (purse.limit_rho, purse.limit_delta) != (was.limit_rho, was.limit_delta):
            limit = (purse.limit_rho, purse.limit_delta)
            limits.append((*limit, *key, was.limit_rho, was.limit_delta, *limit))
        paid = tuple(b - a for a, b in zip(was.numbers[2:], purse.numbers[2:], strict=True))
        if any(paid):
            payments.append((*paid, *key, paid[0], paid[1]))
    return [(schema.OPEN_PURSE, opened), (schema.SET_LIMIT, limits), (schema.PAY, payments)]


def _charge_statements(draft: Draft) -> list[Statement]:
    added, taken, done = [], [], []
    for key, row in draft.state.charges.items():
        was = draft.before.charges.get(key)
        if was is None:
            added.append(
                (
                    *(row.key, row.entry, row.seq, row.population, row.dataset, row.version, row.definition),
                    *(row.analyst, row.fingerprint, row.plan_digest),
                    *(int(row.is_tainted), int(row.is_public_data), row.lease, row.lease_until),
                )
            )
            continue
        if row.lease != was.lease:
            taken.append((row.lease, row.lease_until, key, was.lease, row.fingerprint, row.plan_digest))
        if row.is_done and not was.is_done:
            done.append((key, row.entry, row.lease, row.fingerprint, row.plan_digest))
    return [(schema.ADD_CHARGE, added), (schema.TAKE_LEASE, taken), (schema.COMPLETE, done)]
