"""The state of a store, bound to the chain: what decides about budgets cannot be edited beside it.

Guarantee
    Every row of the state is a leaf of a hash tree (`tree`). The last line of each segment names SHA-256 of a fresh
    salt and the root, the head is its digest, and the store keeps the head's signature. Whoever changes, adds or
    removes a row, puts an older one back, or edits the tree is noticed when the row is read and when the ledger is
    opened.
Requires
    The signing key is not with whoever writes to the store. An older store put back as a whole is the anchor's
    business.
    Salts stay in the store: a leaf or a root without one would let a reader of heads try out the few numbers in it.
Cost
    A row that is read or changed costs the nodes above it, and nothing is scanned. Nodes and rows that were compared
    once are remembered; what is remembered counts only under a root that the chain names.
Absence
    Rows are looked up under the beginning of their names (a population's balances, a data set's versions), so that a
    missing one is noticed too. A charge is found by its key and named by its line: a removed charge is noticed on
    opening; until then the same request would be paid once more.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from dalenius.core.randomness import SystemRandomness
from dalenius.errors import LedgerCorrupt
from dalenius.ledger import schema
from dalenius.ledger import tree as hashes
from dalenius.ledger.anchor import AnchorFile
from dalenius.ledger.draft import Draft, Head
from dalenius.ledger.entry import GENESIS, Entry, canonical
from dalenius.ledger.rows import Row
from dalenius.ledger.schema import StateTable
from dalenius.ledger.tree import EMPTY, SALT_SIZE, HashTree, MissingNode, Node

_MOST_REMEMBERED = 20_000
_POPULATION = 1 + 32
_NEXT = "Put the newest whole copy of the store back; `dalenius ledger verify` lists what else is wrong."

Rows = Mapping[str, Iterable[Row]]
QueryStore = Callable[[str, Sequence[Any]], list[Row]]


def _digits(*values: Any) -> bytes:
    return sha256(canonical(values).encode()).hexdigest()[:32].encode()


@lru_cache(maxsize=1 << 14, typed=True)
def _keyed(tag: bytes, *key: Any) -> bytes:
    return tag + _digits(key[0]) + (_digits(*key[1:]) if len(key) > 1 else b"")


def scope_of(table: StateTable, *key: Any) -> bytes:
    """Return how the names of all rows begin whose key begins with these values."""
    if not table.keys:
        return b"%b%016x" % (table.tag, *key)
    return _keyed(table.tag, *key)


def name_of(table: StateTable, row: Row) -> bytes:
    return scope_of(table, *row[: table.keys or 1])


def leaf_of(table: StateTable, row: Row) -> bytes:
    """Return the digest of a row: its columns and the line that last changed it, under its salt, which stands last."""
    *columns, salt = row
    if not isinstance(salt, bytes) or len(salt) != SALT_SIZE:
        raise ValueError("not a salt")
    return hashes.leaf_digest(salt, ascii((table.name, columns)))


def changed_outside(table: str) -> LedgerCorrupt:
    """Return the refusal, which shows nothing of what the row holds or held."""
    return LedgerCorrupt(
        f"The table {table!r} of the ledger's store was changed outside the ledger: a row is not the one that the "
        f"last signed line names. {_NEXT}",
        table=table,
    )


def only(heads: Sequence[Row]) -> Row:
    if len(heads) != 1:
        raise LedgerCorrupt("The ledger has no head.")
    return heads[0]


class Witness:
    """Compares what is read over one connection with what the head names, and seals what is written."""

    def __init__(self, anchor: AnchorFile, name: Callable[[], str]) -> None:
        self._anchor, self._name = anchor, name
        self._memory: dict[bytes, tuple[bytes, Node]] = {}
        self._latest: tuple[Row, bytes] | None = None
        # Under the head that was seen last: rows by name, and the names of all rows in a scope.
        self._rows: dict[bytes, Row] = {}
        self._scopes: dict[bytes, tuple[bytes, ...]] = {}
        self._written: list[tuple[bytes, Row]] = []

    def tree(self, query: QueryStore, row: Row, scopes: Iterable[bytes] = ()) -> HashTree:
        """Return the tree that the stored head names; refuses a head that was not signed."""
        latest = self._latest
        if latest is None or latest[0] != row:
            self._rows, self._scopes = {}, {}
            if len(self._memory) > _MOST_REMEMBERED:
                self._memory = {}
            # Places that were right under an older root most likely still are.
            likely = {s[:n] for s in scopes for n in range(len(s)) if s[:n] in self._memory}
            root = self._fetch(query, {b"", *likely}).get(b"", EMPTY)
            # The head is the digest of its line, which names the state and is signed.
            seq, digest, salt, signature, line = row
            if (seq, digest, root) != (0, GENESIS, EMPTY):
                try:
                    entry = Entry.read(line)
                    is_right = (entry.seq, entry.digest, entry.state) == (seq, digest, sha256(salt + root).hexdigest())
                except (LedgerCorrupt, TypeError) as error:
                    raise changed_outside("head") from error
                if not is_right or not self._anchor.has_signed(self._name(), Head(seq, digest), entry.at, signature):
                    raise changed_outside("head")
            latest = self._latest = (row, root)
        return HashTree(latest[1], self._memory)

    def _fetch(self, query: QueryStore, places: Iterable[bytes]) -> dict[bytes, bytes]:
        wanted = sorted(place.decode() for place in places)
        digests: dict[bytes, bytes] = {}
        for start in range(0, len(wanted), 200):
            part = wanted[start : start + 200]
            digests |= self._remember(query(f"{schema.NODES} WHERE place IN ({', '.join('?' * len(part))})", part))
        return digests

    def _remember(self, nodes: Iterable[Row]) -> dict[bytes, bytes]:
        digests = {}
        try:
            for text, content in nodes:
                place = text.encode()
                digests[place] = hashes.node_digest(content)
                self._memory[place] = (digests[place], hashes.decode(content))
        except (AttributeError, TypeError, ValueError, IndexError) as error:
            raise changed_outside("tree") from error
        return digests

    def _leaves(self, query: QueryStore, tree: HashTree, scope: bytes) -> dict[bytes, bytes]:
        """Return the leaves of a scope; nodes that are not remembered are read from the store and compared."""
        leaves: dict[bytes, bytes] = {}
        while True:
            try:
                tree.gather(scope, leaves)
                return leaves
            except MissingNode as gap:
                self._supply(query, gap)

    def _supply(self, query: QueryStore, gap: MissingNode) -> None:
        if self._fetch(query, [gap.place]) != {gap.place: gap.digest}:
            raise changed_outside("tree")

    def check(self, query: QueryStore, tree: HashTree, rows: Rows, scopes: Iterable[bytes]) -> None:
        """Compare rows with their leaves: under the scopes and the rows' own names there must be exactly these."""
        read: dict[bytes, Row] = {}
        for table_name, several in rows.items():
            table = schema.STATE[table_name]
            for row in several:
                name = _name(table, row)
                # Two different rows never have one name.
                if read.setdefault(name, row) != row:
                    raise changed_outside(table_name)
                if name in self._scopes:
                    if self._rows.get(name) != row:
                        raise changed_outside(table_name)
                elif self._leaves(query, tree, name).get(name) != _digest(table, row):
                    raise changed_outside(table_name)
                elif table.keys:
                    self._rows[name], self._scopes[name] = row, (name,)
        names_read = set(read)
        for scope in scopes:
            names = self._scopes.get(scope)
            if names is None:
                names = tuple(self._leaves(query, tree, scope))
                if scope[:1] not in _NUMBERED:
                    self._scopes[scope] = names
            if not names_read.issuperset(names):
                raise changed_outside(_table_of(scope))

    def check_all(self, query: QueryStore) -> None:
        """Compare all rows and all nodes with the head, inside a snapshot."""
        self._memory, self._latest = {}, None
        head = only(query(schema.SEALED_HEAD, ()))
        stored = set(self._remember(query(schema.NODES, ())))
        tree = self.tree(query, head)
        leaves = self._leaves(query, tree, b"")
        for name, table in schema.STATE.items():
            for row in query(table.select, ()):
                if leaves.pop(_name(table, row), None) != _digest(table, row):
                    raise changed_outside(name)
        if leaves:
            raise changed_outside(_table_of(min(leaves)))
        if stored != hashes.places_in(self._memory):
            raise changed_outside("tree")

    def seal(
        self, query: QueryStore, draft: Draft, tree: HashTree, rows: Sequence[tuple[StateTable, Row]]
    ) -> tuple[list[Row], bytes, str]:
        """Put the changed rows into the tree and name its root in the draft's last line.

        Returns for each row the line and salt to be stored with it, the root's salt, and the signature of the head.
        """
        salts = SystemRandomness().bytes(SALT_SIZE * (len(rows) + 1))
        marks: list[Row] = []
        seq, at, self._written = draft.tip.seq, SALT_SIZE, []
        for table, row in rows:
            mark = (seq, salts[at : at + SALT_SIZE])
            at += SALT_SIZE
            marks.append(mark)
            name = name_of(table, row)
            self._put(query, tree, name, hashes.leaf_digest(mark[1], ascii((table.name, [*row, seq]))))
            if table.keys:
                self._written.append((name, (*row, *mark)))
        draft.seal(sha256(salts[:SALT_SIZE] + tree.seal()).hexdigest())
        ledger = draft.lines[0].digest if draft.lines[0].seq == 1 else self._name()
        return marks, salts[:SALT_SIZE], self._anchor.sign(ledger, draft.tip, draft.lines[-1].at)

    def _put(self, query: QueryStore, tree: HashTree, name: bytes, digest: bytes) -> None:
        while True:
            try:
                return tree.put(name, digest)
            except MissingNode as gap:
                self._supply(query, gap)

    def keep(self, tree: HashTree, head: Row) -> None:
        """Remember what was written under this head, once it is stored."""
        tree.keep()
        self._latest = (head, tree.root)
        for name, row in self._written:
            self._rows[name], self._scopes[name] = row, (name,)
            for scope in (name[:1], name[:_POPULATION]):
                if scope != name:
                    self._scopes.pop(scope, None)


_NUMBERED = tuple(table.tag for table in schema.STATE.values() if not table.keys)


def _table_of(name: bytes) -> str:
    return next(table.name for table in schema.STATE.values() if name.startswith(table.tag))


def _name(table: StateTable, row: Row) -> bytes:
    try:
        return name_of(table, row)
    except (TypeError, ValueError) as error:
        raise changed_outside(table.name) from error


def _digest(table: StateTable, row: Row) -> bytes:
    try:
        return leaf_of(table, row)
    except ValueError as error:
        raise changed_outside(table.name) from error
