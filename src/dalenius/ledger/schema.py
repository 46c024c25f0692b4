"""The tables and the statements, written by hand for both stores.

The statements hold the invariants themselves: a balance changes only if it stays within its limit, a key is charged
once, a charge is completed by the holder of its lease, the head moves only from where it was read. A statement that
touches fewer rows than it should rolls the batch back. No claim rests on an isolation level.

Every table of the state names with each row the signed line that last changed it and holds the salt of its leaf in the
tree (`seal`). `STATE` lists their columns, and the statements that read them are made of that list.

A line has one index, its place: the chain cannot fork, because no place is taken twice and the head moves only from
where it was read. An index over digests would guard nothing more and scatter every commit over the disk.
"""

from typing import NamedTuple

TABLES = """
CREATE TABLE IF NOT EXISTS head (
    id      SMALLINT PRIMARY KEY CHECK (id = 1),
    seq     BIGINT NOT NULL,
    digest  TEXT NOT NULL,
    salt    {blob} NOT NULL,
    signature TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS tree (
    place    TEXT PRIMARY KEY,
    content  {blob} NOT NULL
){by_key};
CREATE TABLE IF NOT EXISTS entries (
    seq         {place} PRIMARY KEY,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    population  TEXT NOT NULL,
    line        TEXT NOT NULL,
    previous    TEXT NOT NULL,
    digest      TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_population ON entries (population, seq);
CREATE TABLE IF NOT EXISTS terms (
    population      TEXT PRIMARY KEY,
    relation        TEXT NOT NULL,
    approval_above  BIGINT,
    is_scheduled    INTEGER NOT NULL CHECK (is_scheduled IN (0, 1)),
    changed         BIGINT NOT NULL,
    salt            {blob} NOT NULL
);
CREATE TABLE IF NOT EXISTS balances (
    population     TEXT NOT NULL,
    account           TEXT NOT NULL,
    kind           TEXT NOT NULL,
    name           TEXT NOT NULL,
    limit_rho      BIGINT NOT NULL,
    limit_delta    BIGINT NOT NULL,
    spent_rho      BIGINT NOT NULL,
    spent_delta    BIGINT NOT NULL,
    spent_epsilon  BIGINT NOT NULL,
    impure         BIGINT NOT NULL,
    charges        BIGINT NOT NULL,
    changed        BIGINT NOT NULL,
    salt           {blob} NOT NULL,
    PRIMARY KEY (population, account, kind, name),
    CHECK (spent_rho >= 0 AND spent_delta >= 0 AND spent_epsilon >= 0),
    CHECK (spent_rho <= limit_rho),
    CHECK (spent_delta <= limit_delta)
);
CREATE TABLE IF NOT EXISTS charges (
    key             TEXT PRIMARY KEY,
    entry           TEXT NOT NULL UNIQUE,
    seq             BIGINT NOT NULL,
    population      TEXT NOT NULL,
    dataset         TEXT NOT NULL,
    version         TEXT NOT NULL,
    definition      TEXT NOT NULL,
    analyst         TEXT NOT NULL,
    fingerprint     TEXT NOT NULL,
    plan_digest     TEXT NOT NULL,
    is_tainted      INTEGER NOT NULL CHECK (is_tainted IN (0, 1)),
    is_public_data  INTEGER NOT NULL CHECK (is_public_data IN (0, 1)),
    is_done         INTEGER NOT NULL CHECK (is_done IN (0, 1)),
    lease           TEXT NOT NULL,
    lease_until     DOUBLE PRECISION NOT NULL,
    changed         BIGINT NOT NULL,
    salt            {blob} NOT NULL
);
CREATE TABLE IF NOT EXISTS releases (
    entry       TEXT PRIMARY KEY REFERENCES charges (entry),
    key         TEXT NOT NULL UNIQUE REFERENCES charges (key),
    digest      TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('draft', 'embargoed', 'published', 'withdrawn')),
    seq         BIGINT NOT NULL,
    changed     BIGINT NOT NULL,
    salt        {blob} NOT NULL,
    document    {blob} NOT NULL
);
CREATE TABLE IF NOT EXISTS registrations (
    dataset        TEXT NOT NULL,
    version        TEXT NOT NULL,
    population     TEXT NOT NULL,
    fingerprint    TEXT NOT NULL,
    domain_digest  TEXT NOT NULL,
    entry          TEXT NOT NULL UNIQUE,
    changed        BIGINT NOT NULL,
    salt           {blob} NOT NULL,
    PRIMARY KEY (dataset, version)
);
CREATE TABLE IF NOT EXISTS checks (
    population  TEXT PRIMARY KEY,
    value       TEXT NOT NULL,
    changed     BIGINT NOT NULL,
    salt        {blob} NOT NULL
)
"""
# SQLite keeps lines and nodes in the order of their keys, without a second index that every charge would write to.
SQLITE = {"blob": "BLOB", "place": "INTEGER", "by_key": " WITHOUT ROWID"}
POSTGRES = {"blob": "BYTEA", "place": "BIGINT", "by_key": ""}


class StateTable(NamedTuple):
    """A table of the state: its columns without salt and document.

    The first `keys` columns tell its rows apart; where there are none, `seq` does, the line that made the row.
    """

    name: str
    tag: bytes
    keys: int
    columns: tuple[str, ...]

    @property
    def stored(self) -> tuple[str, ...]:
        return (*self.columns, "changed", "salt")

    @property
    def select(self) -> str:
        return f"SELECT {', '.join(self.stored)} FROM {self.name}"

    @property
    def insert(self) -> str:
        return f"INSERT INTO {self.name} ({', '.join(self.stored)}) VALUES ({', '.join('?' * len(self.stored))})"


TERMS_TABLE = StateTable("terms", b"0", 1, ("population", "relation", "approval_above", "is_scheduled"))
BALANCES_TABLE = StateTable(
    "balances",
    b"1",
    4,
    (
        *("population", "account", "kind", "name", "limit_rho", "limit_delta", "spent_rho", "spent_delta"),
        *("spent_epsilon", "impure", "charges"),
    ),
)
CHARGES_TABLE = StateTable(
    "charges",
    b"2",
    0,
    (
        *("seq", "key", "entry", "population", "dataset", "version", "definition", "analyst", "fingerprint"),
        *("plan_digest", "is_tainted", "is_public_data", "is_done", "lease", "lease_until"),
    ),
)
RELEASES_TABLE = StateTable("releases", b"3", 0, ("seq", "entry", "key", "digest", "status"))
REGISTRATIONS_TABLE = StateTable(
    "registrations", b"4", 2, ("dataset", "version", "population", "fingerprint", "domain_digest", "entry")
)
CHECKS_TABLE = StateTable("checks", b"5", 1, ("population", "value"))
STATE = {
    table.name: table
    for table in (TERMS_TABLE, BALANCES_TABLE, CHARGES_TABLE, RELEASES_TABLE, REGISTRATIONS_TABLE, CHECKS_TABLE)
}

FIRST_HEAD = "INSERT INTO head (id, seq, digest, salt, signature) VALUES (1, 0, ?, ?, '') ON CONFLICT (id) DO NOTHING"
HEAD = "SELECT seq, digest FROM head WHERE id = 1"
SEALED_HEAD = """
SELECT h.seq, h.digest, h.salt, h.signature, e.line
FROM head h LEFT JOIN entries e ON e.seq = h.seq WHERE h.id = 1
"""
MOVE_HEAD = "UPDATE head SET seq = ?, digest = ?, salt = ?, signature = ? WHERE id = 1 AND seq = ? AND digest = ?"

NODES = "SELECT place, content FROM tree"
PUT_NODE = (
    "INSERT INTO tree (place, content) VALUES (?, ?) ON CONFLICT (place) DO UPDATE SET content = excluded.content"
)

ADD_ENTRY = "INSERT INTO entries (seq, name, kind, population, line, previous, digest) VALUES (?, ?, ?, ?, ?, ?, ?)"

PUT_TERMS = f"""
{TERMS_TABLE.insert}
ON CONFLICT (population) DO UPDATE SET approval_above = excluded.approval_above, is_scheduled = excluded.is_scheduled,
                                       changed = excluded.changed, salt = excluded.salt
WHERE terms.relation = excluded.relation
"""

OPEN_BALANCE = """
INSERT INTO balances (population, account, kind, name, limit_rho, limit_delta,
                    spent_rho, spent_delta, spent_epsilon, impure, charges, changed, salt)
VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, ?, ?)
"""

SET_LIMIT = """
UPDATE balances SET limit_rho = ?, limit_delta = ?, changed = ?, salt = ?
WHERE population = ? AND account = ? AND kind = ? AND name = ?
  AND limit_rho = ? AND limit_delta = ? AND spent_rho <= ? AND spent_delta <= ?
"""

# The heart of the ledger: nothing above the limit is charged, whoever else is writing.
PAY = """
UPDATE balances SET spent_rho = spent_rho + ?, spent_delta = spent_delta + ?, spent_epsilon = spent_epsilon + ?,
                  impure = impure + ?, charges = charges + ?, changed = ?, salt = ?
WHERE population = ? AND account = ? AND kind = ? AND name = ?
  AND spent_rho + ? <= limit_rho AND spent_delta + ? <= limit_delta
"""

TAKE_LEASE = """
UPDATE charges SET lease = ?, lease_until = ?, changed = ?, salt = ?
WHERE key = ? AND lease = ? AND is_done = 0 AND fingerprint = ? AND plan_digest = ?
"""

COMPLETE = """
UPDATE charges SET is_done = 1, changed = ?, salt = ?
WHERE key = ? AND entry = ? AND lease = ? AND is_done = 0 AND fingerprint = ? AND plan_digest = ?
"""

ADD_RELEASE = """
INSERT INTO releases (seq, entry, key, digest, status, changed, salt, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""

SET_STATUS = "UPDATE releases SET status = ?, changed = ?, salt = ? WHERE entry = ? AND status = ?"

_RELEASED = [f"r.{column}" for column in RELEASES_TABLE.stored]
_CHARGED = [f"c.{column}" for column in CHARGES_TABLE.stored]
# A stored release, and after it the two rows of the state that it is checked against.
DOCUMENTS = f"""
SELECT r.entry, r.key, r.document, r.status, c.population, c.analyst, r.digest,
       {", ".join(_RELEASED)}, {", ".join(_CHARGED)}
FROM releases r JOIN charges c ON c.entry = r.entry
"""
ENTRIES = "SELECT seq, name, kind, population, line, previous, digest FROM entries"
DIGESTS = "SELECT seq, digest FROM entries WHERE seq BETWEEN ? AND ? ORDER BY seq"
