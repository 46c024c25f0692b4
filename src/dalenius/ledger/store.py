"""What both stores share: load the touched part of the state, and apply a drafted batch or none of it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from dalenius.errors import LedgerCorrupt
from dalenius.ledger import schema
from dalenius.ledger.account import Purse
from dalenius.ledger.draft import Draft, Head, Needs
from dalenius.ledger.rows import Row, as_charge, as_purse, as_registration, as_release, as_terms
from dalenius.ledger.state import State

_CHUNK = 200


class Raced(Exception):
    """A statement did not touch what it should: somebody else was first. The batch is rolled back and redone."""


class Lost(Exception):
    """The connection broke; whether the last batch was written is not known until somebody looks."""


class Store(Protocol):
    """A place that keeps the ledger: two calls differ, everything else is the same hand-written SQL."""

    def transaction(self) -> AbstractContextManager[None]:
        """A durable write transaction; on any exception nothing of it remains."""

    def snapshot(self) -> AbstractContextManager[None]:
        """A read transaction in which everything is seen at one moment."""

    def run(self, sql: str, rows: Sequence[Row]) -> int:
        """Execute for each row of parameters inside the transaction; how many rows were touched."""

    def ask(self, sql: str, parameters: Row = ()) -> list[Row]:
        """Rows of a query, inside the transaction or snapshot if there is one."""

    def close(self) -> None:
        """Let go of the connection."""


def read_head(store: Store) -> Head:
    """The last line."""
    rows = store.ask(schema.HEAD)
    if len(rows) != 1:
        raise LedgerCorrupt("The ledger has no head.")
    seq, digest = rows[0]
    return Head(int(seq), str(digest))


def _where(
    store: Store, sql: str, columns: Sequence[str], values: Iterable[Row], tail: str = ""
) -> Iterator[Row]:
    """Rows of a query whose columns equal one of the given tuples."""
    wanted = sorted(set(map(tuple, values)))
    for start in range(0, len(wanted), _CHUNK):
        part = wanted[start : start + _CHUNK]
        one = " AND ".join(f"{column} = ?" for column in columns)
        clause = " OR ".join(f"({one})" for _ in part)
        yield from store.ask(f"{sql} WHERE {clause}{tail}", [value for row in part for value in row])


def load(store: Store, needs: Needs) -> State:
    """The part of the state that a batch must see."""
    populations = [(name,) for name in needs.populations]
    keys = [(key,) for key in needs.keys]
    entries = [(entry,) for entry in needs.entries]
    datasets = [(name,) for name in needs.datasets]
    state = State()
    state.terms = {r[0]: as_terms(r) for r in _where(store, schema.TERMS, ["population"], populations)}
    checks = [(name,) for name in needs.checks]
    state.checks = {r[0]: r[1] for r in _where(store, schema.CHECKS, ["population"], checks)}
    columns = ["population", "page", "kind", "name"]
    state.purses = {p.key: p for p in map(as_purse, _where(store, schema.PURSES, columns, needs.purses))}
    for column, values in (("key", keys), ("entry", entries)):
        state.charges |= {c.key: c for c in map(as_charge, _where(store, schema.CHARGES, [column], values))}
    done = [(charge.key,) for charge in state.charges.values() if charge.is_done]
    state.releases = {r.entry: r for r in map(as_release, _where(store, schema.RELEASES, ["key"], done))}
    for known in map(as_registration, _where(store, schema.REGISTRATIONS, ["dataset"], datasets)):
        state.registrations[known.dataset, known.version] = known
        state.owners[known.dataset] = known.population
    return state


def load_all(store: Store) -> State:
    """All of it, for verification."""
    state = State()
    state.terms = {r[0]: as_terms(r) for r in store.ask(schema.TERMS)}
    state.checks = {r[0]: r[1] for r in store.ask(schema.CHECKS)}
    state.purses = {p.key: p for p in map(as_purse, store.ask(schema.PURSES))}
    state.charges = {c.key: c for c in map(as_charge, store.ask(schema.CHARGES))}
    state.releases = {r.entry: r for r in map(as_release, store.ask(schema.RELEASES))}
    for known in map(as_registration, store.ask(schema.REGISTRATIONS)):
        state.registrations[known.dataset, known.version] = known
        state.owners[known.dataset] = known.population
    return state


def _run(store: Store, sql: str, rows: Sequence[Row]) -> None:
    """Every row of parameters must touch exactly one row of the store."""
    if rows and store.run(sql, rows) != len(rows):
        raise Raced(sql.split(maxsplit=1)[0])


def apply(store: Store, draft: Draft) -> None:
    """Write what the batch changed. Each statement holds its own invariant; `Raced` if one of them did not."""
    old, new = draft.before, draft.state
    changed = [t for name, t in new.terms.items() if old.terms.get(name) != t]
    _run(
        store,
        schema.PUT_TERMS,
        [(t.population, str(t.relation), t.approval_above, int(t.is_scheduled)) for t in changed],
    )
    _apply_purses(store, old, new)
    _run(
        store,
        schema.ADD_ENTRY,
        [(e.seq, e.name, e.kind, e.population, e.line, e.previous, e.digest) for e in draft.lines],
    )
    _apply_charges(store, draft)
    fresh = [r for entry, r in new.releases.items() if entry not in old.releases]
    _run(
        store,
        schema.ADD_RELEASE,
        [(r.entry, r.key, r.digest, r.status, draft.documents[r.entry]) for r in fresh],
    )
    moved = [(r, old.releases.get(e)) for e, r in new.releases.items()]
    _run(store, schema.SET_STATUS, [(r.status, r.entry, was.status) for r, was in moved if was and was != r])
    _run(
        store,
        schema.ADD_REGISTRATION,
        [
            (r.dataset, r.version, r.population, r.fingerprint, r.domain_digest, r.entry)
            for place, r in new.registrations.items()
            if place not in old.registrations
        ],
    )
    _run(store, schema.ADD_CHECK, [(p, v) for p, v in new.checks.items() if p not in old.checks])
    _run(store, schema.MOVE_HEAD, [(draft.tip.seq, draft.tip.digest, draft.head.seq, draft.head.digest)])


def _apply_purses(store: Store, old: State, new: State) -> None:
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
    _run(store, schema.OPEN_PURSE, opened)
    _run(store, schema.SET_LIMIT, limits)
    _run(store, schema.PAY, payments)


def _apply_charges(store: Store, draft: Draft) -> None:
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
    _run(store, schema.ADD_CHARGE, added)
    _run(store, schema.TAKE_LEASE, taken)
    _run(store, schema.COMPLETE, done)
