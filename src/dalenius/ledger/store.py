"""What both stores share: load the part of the state that a batch touches, and apply all of the batch or nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import lru_cache
from itertools import chain
from operator import sub
from typing import Protocol

from dalenius.errors import DaleniusError, LedgerCorrupt
from dalenius.ledger import schema
from dalenius.ledger.account import Balance, BalanceKey
from dalenius.ledger.charge import Registration
from dalenius.ledger.draft import Draft, Head, Needs
from dalenius.ledger.entry import Entry
from dalenius.ledger.rows import Row, as_balance, as_terms, flag, of_terms
from dalenius.ledger.schema import StateTable
from dalenius.ledger.seal import Rows, Witness, changed_outside, only, scope_of
from dalenius.ledger.state import SPENDING, ChargeRow, ReleaseRow, State
from dalenius.ledger.tree import HashTree

_CHUNK = 200
_LINES_AT_ONCE = 2000
_READ = (*schema.STATE, "own")

Query = tuple[str, Row]
Statement = tuple[str, Sequence[Row]]


class WriteConflict(Exception):
    """A statement did not touch what it should: somebody else was first. The batch is rolled back and repeated."""


class ConnectionLost(Exception):
    """The connection broke; whether the last batch was written is not known."""


class Store(Protocol):
    """A database that holds the ledger; the SQL is the same for all of them."""

    def transaction(self) -> AbstractContextManager[None]:
        """A durable write transaction; on any exception nothing of it remains."""

    def snapshot(self) -> AbstractContextManager[None]:
        """A read transaction in which everything is seen at one moment."""

    def run(self, statements: Sequence[Statement]) -> list[int]:
        """Execute each statement for each of its rows of parameters; how many rows each statement touched."""

    def query(self, sql: str, parameters: Row = ()) -> list[Row]:
        """Return the rows of a query, inside the transaction or snapshot if there is one."""

    def query_all(self, queries: Sequence[Query]) -> list[list[Row]]:
        """Return the rows of several queries, in one round trip."""

    def check(self) -> None:
        """Raise `LedgerCorrupt` where the connection does not lead to the store that others see."""

    def fresh(self) -> AbstractContextManager["Store"]:
        """Open the same store through another connection, which has seen nothing of what this one wrote."""

    def close(self) -> None:
        """Close the connection."""


def read_head(store: Store) -> Head:
    return head_of(only(store.query(schema.HEAD)))


def stored_lines(store: Store) -> Iterator[Row]:
    after = 0
    while rows := store.query(f"{schema.ENTRIES} WHERE seq > ? ORDER BY seq LIMIT {_LINES_AT_ONCE}", (after,)):
        yield from rows
        after = rows[-1][0]


def head_of(row: Row) -> Head:
    if not isinstance(row[0], int) or not isinstance(row[1], str):
        raise changed_outside("head")
    return Head(row[0], row[1])


def read_back(store: Store, lines: Sequence[Entry]) -> None:
    """Raise `LedgerCorrupt` unless a written segment can be read through a new connection."""
    rows: list[Row] = []
    # A connection that finds no log, or that of another store, cannot read at all.
    with suppress(DaleniusError), store.fresh() as witness:
        rows = witness.query(schema.DIGESTS, (lines[0].seq, lines[-1].seq))
    if [tuple(row) for row in rows] != [(line.seq, line.digest) for line in lines]:
        raise LedgerCorrupt(
            "A line that was written to the ledger could not be read back through a new connection, so nothing is "
            "released. Open the ledger again; `dalenius ledger verify` compares it with its anchor."
        )


Search = tuple[str, str, Row]
"""A query, and what its rows are."""


def _where(what: str, sql: str, columns: tuple[str, ...], values: Collection[tuple[str, ...]]) -> Iterator[Search]:
    """Yield queries for the rows whose first columns equal one of the given tuples."""
    wanted = sorted(values)
    for start in range(0, len(wanted), _CHUNK):
        part = wanted[start : start + _CHUNK]
        yield what, _lookup(sql, columns[: len(part[0])], len(part)), tuple(chain.from_iterable(part))


@lru_cache(maxsize=1 << 10)
def _lookup(sql: str, columns: tuple[str, ...], count: int) -> str:
    if len(columns) == 1:
        return f"{sql} WHERE {columns[0]} IN ({', '.join('?' * count)})"
    one = f"({' AND '.join(f'{column} = ?' for column in columns)})"
    return f"{sql} WHERE {' OR '.join([one] * count)}"


def load(store: Store, needs: Needs, witness: Witness) -> tuple[State, Head, HashTree]:
    """Return the part of the state that a batch must see, the head it will follow, and the tree that the head names."""
    searches, scopes = _accounts(needs.populations, needs.balances, needs.datasets, needs.checks, needs.spenders)
    searches = (*searches, *_releases(needs))
    # The head comes first: had anything below changed after it was read, the batch could not move it.
    queries = [(schema.SEALED_HEAD, ()), *[(sql, values) for _, sql, values in searches]]
    heads, *results = store.query_all(queries)
    rows: dict[str, list[Row]] = {what: [] for what in _READ}
    for (what, _, _), part in zip(searches, results, strict=True):
        rows[what] += part
    head, own = only(heads), rows.pop("own")
    tree = compare(store, head, rows, scopes, witness)
    state = _as_state(rows)
    for row in own:
        state.fold_own_spending(Entry.read(row[4]))
    return state, head_of(head), tree


@lru_cache(maxsize=1 << 8)
def _accounts(
    populations: frozenset[str],
    balances: frozenset[BalanceKey],
    datasets: frozenset[str],
    checks: frozenset[str],
    spenders: frozenset[str],
) -> tuple[tuple[Search, ...], frozenset[bytes]]:
    """Return the searches that do not depend on a single request, and the scopes by which missing rows are noticed."""
    keyed: tuple[tuple[StateTable, Collection[tuple[str, ...]]], ...] = (
        (schema.TERMS_TABLE, list(zip(populations, strict=True))),
        (schema.CHECKS_TABLE, list(zip(checks, strict=True))),
        (schema.BALANCES_TABLE, balances),
        (schema.REGISTRATIONS_TABLE, list(zip(datasets, strict=True))),
    )
    lines = [(population, kind) for population in spenders for kind in SPENDING]
    searches = (
        *(search for table, keys in keyed for search in _where(table.name, table.select, table.columns, keys)),
        *_where("own", schema.ENTRIES, ("population", "kind"), lines),
    )
    return searches, frozenset(scope_of(table, *key) for table, keys in keyed for key in keys)


def _releases(needs: Needs) -> Iterator[Search]:
    for column, values in (("key", needs.keys), ("entry", needs.entries)):
        if values:
            wanted = list(zip(values, strict=True))
            for table in (schema.CHARGES_TABLE, schema.RELEASES_TABLE):
                yield from _where(table.name, table.select, (column,), wanted)


def compare(store: Store, head: Row, rows: Rows, scopes: Iterable[bytes], witness: Witness) -> HashTree:
    """Compare rows with the state that the head names; a charge and its release come together or not at all."""
    wanted = {*scopes}
    for table, other in ((schema.RELEASES_TABLE, "charges"), (schema.CHARGES_TABLE, "releases")):
        wanted.update(scope_of(table, row[0]) for row in rows.get(other, ()) if isinstance(row[0], int))
    tree = witness.tree(store.query, head, wanted)
    witness.check(store.query, tree, rows, wanted)
    return tree


def load_all(store: Store) -> State:
    return _as_state({name: store.query(table.select) for name, table in schema.STATE.items()})


def _as_state(rows: Mapping[str, Sequence[Row]]) -> State:
    state = State()
    state.terms = {row[0]: as_terms(row) for row in rows["terms"]}
    state.checks = {row[0]: row[1] for row in rows["checks"]}
    state.balances = {balance.key: balance for balance in map(as_balance, rows["balances"])}
    for row in rows["charges"]:
        charge = ChargeRow._make((*row[:10], *map(flag, row[10:13]), row[13], float(row[14])))
        state.charges[charge.key] = charge
    state.releases = {row[1]: ReleaseRow(*row[:5]) for row in rows["releases"]}
    for row in rows["registrations"]:
        registration = Registration(*row[:6])
        state.registrations[registration.dataset, registration.version] = registration
        state.owners[registration.dataset] = registration.population
    return state


def apply(store: Store, draft: Draft, tree: HashTree, witness: Witness) -> Row:
    """Write what the batch changed and return the new head's row; its last line names the state it leaves behind.

    Each statement holds its own invariant; `WriteConflict` if one of them did not.
    """
    changes = _changes(draft)
    marks, salt, signature = witness.seal(store.query, draft, tree, [(table, row) for table, row, _ in changes])
    moved = (draft.tip.seq, draft.tip.digest, salt, signature, draft.head.seq, draft.head.digest)
    steps: dict[str, list[Row]] = {}
    for (_, _, own), mark in zip(changes, marks, strict=True):
        for sql, before, after in own:
            steps.setdefault(sql, []).append((*before, *mark, *after))
    statements: list[Statement] = [
        *((sql, steps[sql]) for sql in _ORDER if sql in steps),
        (schema.ADD_ENTRY, [(e.seq, e.name, e.kind, e.population, e.line, e.previous, e.digest) for e in draft.lines]),
        (schema.PUT_NODE, [(place.decode(), content) for place, content in tree.changes()]),
        (schema.MOVE_HEAD, [moved]),
    ]
    for (sql, rows), touched in zip(statements, store.run(statements), strict=True):
        # Every row of parameters must touch exactly one row of the store.
        if touched != len(rows):
            raise WriteConflict(sql.split(maxsplit=1)[0])
    return (*moved[:4], draft.lines[-1].line)


Write = tuple[str, Row, Row]
"""A statement with its parameters; those of the mark (the line and the salt) stand between the two parts."""
Change = tuple[StateTable, Row, list[Write]]
"""A row as it will stand, and the steps that make it so."""


# The order in which the steps of all changes run, those of one statement together. Limits come before payments: what a
# batch spends from one balance is one conditional statement.
_ORDER = (
    *(schema.PUT_TERMS, schema.OPEN_BALANCE, schema.SET_LIMIT, schema.PAY),
    *(schema.CHARGES_TABLE.insert, schema.TAKE_LEASE, schema.COMPLETE, schema.ADD_RELEASE, schema.SET_STATUS),
    *(schema.REGISTRATIONS_TABLE.insert, schema.CHECKS_TABLE.insert),
)


def _changes(draft: Draft) -> list[Change]:
    old, new = draft.before, draft.state
    changes: list[Change] = [
        (schema.TERMS_TABLE, of_terms(terms), [(schema.PUT_TERMS, of_terms(terms), ())])
        for name, terms in new.terms.items()
        if old.terms.get(name) != terms
    ]
    # A fixed order of the rows keeps two writers from waiting for each other in a circle.
    for where in sorted([key for key, balance in new.balances.items() if balance != old.balances.get(key)]):
        changes.append(_balance_change(new.balances[where], old.balances.get(where)))
    for key, charge in new.charges.items():
        if charge != old.charges.get(key):
            changes.append(_charge_change(charge, old.charges.get(key)))
    for entry, release in new.releases.items():
        was = old.releases.get(entry)
        if was is None:
            changes.append(
                (schema.RELEASES_TABLE, release, [(schema.ADD_RELEASE, release, (draft.documents.get(entry),))])
            )
        elif release != was:
            step = (schema.SET_STATUS, (release.status,), (release.entry, was.status))
            changes.append((schema.RELEASES_TABLE, release, [step]))
    for place, one in new.registrations.items():
        if place not in old.registrations:
            changes.append((schema.REGISTRATIONS_TABLE, one, [(schema.REGISTRATIONS_TABLE.insert, one, ())]))
    for check in new.checks.items():
        if check[0] not in old.checks:
            changes.append((schema.CHECKS_TABLE, check, [(schema.CHECKS_TABLE.insert, check, ())]))
    return changes


def _balance_change(balance: Balance, was: Balance | None) -> Change:
    key, limit = balance.key, balance[1:3]
    steps: list[Write] = []
    if was is None:
        steps.append((schema.OPEN_BALANCE, (*key, *limit), ()))
        was = Balance(key, *limit)
    elif limit != was[1:3]:
        steps.append((schema.SET_LIMIT, limit, (*key, *was[1:3], *limit)))
    paid = tuple(map(sub, balance[3:], was[3:]))
    if any(paid):
        steps.append((schema.PAY, paid, (*key, paid[0], paid[1])))
    return schema.BALANCES_TABLE, (*balance.key, *balance[1:]), steps


def _charge_change(charge: ChargeRow, was: ChargeRow | None) -> Change:
    row = (*charge[:10], *map(int, charge[10:13]), charge.lease, float(charge.lease_until))
    if was is None:
        return schema.CHARGES_TABLE, row, [(schema.CHARGES_TABLE.insert, row, ())]
    steps: list[Write] = []
    same = (charge.fingerprint, charge.plan_digest)
    taken = (charge.lease, charge.lease_until)
    if taken != (was.lease, was.lease_until):
        steps.append((schema.TAKE_LEASE, taken, (charge.key, was.lease, *same)))
    if charge.is_done and not was.is_done:
        steps.append((schema.COMPLETE, (), (charge.key, charge.entry, charge.lease, *same)))
    return schema.CHARGES_TABLE, row, steps
