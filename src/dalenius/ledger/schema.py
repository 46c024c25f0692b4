"""The tables and the statements, written by hand for both stores.

The statements carry the invariants themselves: a purse moves only if what it then holds is within its limit, a key
is charged once, a charge is completed by the holder of its lease, the head moves only from where it was read. What
a statement does not touch, as often as it should, rolls the batch back. No claim rests on an isolation level.

A line has one index, its place: the chain cannot fork, because no place is taken twice and the head moves only from
where it was read. An index over digests would guard nothing more and scatter every commit over the disk.
"""

TABLES = """
CREATE TABLE IF NOT EXISTS head (
    id      SMALLINT PRIMARY KEY CHECK (id = 1),
    seq     BIGINT NOT NULL,
    digest  TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS entries (
    seq         BIGINT PRIMARY KEY,
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
    is_scheduled    INTEGER NOT NULL CHECK (is_scheduled IN (0, 1))
);
CREATE TABLE IF NOT EXISTS purses (
    population     TEXT NOT NULL,
    page           TEXT NOT NULL,
    kind           TEXT NOT NULL,
    name           TEXT NOT NULL,
    limit_rho      BIGINT NOT NULL,
    limit_delta    BIGINT NOT NULL,
    spent_rho      BIGINT NOT NULL,
    spent_delta    BIGINT NOT NULL,
    spent_epsilon  BIGINT NOT NULL,
    impure         BIGINT NOT NULL,
    charges        BIGINT NOT NULL,
    PRIMARY KEY (population, page, kind, name),
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
    lease_until     DOUBLE PRECISION NOT NULL
);
CREATE TABLE IF NOT EXISTS releases (
    entry       TEXT PRIMARY KEY REFERENCES charges (entry),
    key         TEXT NOT NULL UNIQUE REFERENCES charges (key),
    digest      TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('draft', 'embargoed', 'published', 'withdrawn')),
    document    {blob} NOT NULL
);
CREATE TABLE IF NOT EXISTS registrations (
    dataset        TEXT NOT NULL,
    version        TEXT NOT NULL,
    population     TEXT NOT NULL,
    fingerprint    TEXT NOT NULL,
    domain_digest  TEXT NOT NULL,
    entry          TEXT NOT NULL UNIQUE,
    PRIMARY KEY (dataset, version)
);
CREATE TABLE IF NOT EXISTS checks (
    population  TEXT PRIMARY KEY,
    value       TEXT NOT NULL
)
"""

FIRST_HEAD = "INSERT INTO head (id, seq, digest) VALUES (1, 0, ?) ON CONFLICT (id) DO NOTHING"
HEAD = "SELECT seq, digest FROM head WHERE id = 1"
MOVE_HEAD = "UPDATE head SET seq = ?, digest = ? WHERE id = 1 AND seq = ? AND digest = ?"

ADD_ENTRY = (
    "INSERT INTO entries (seq, name, kind, population, line, previous, digest) VALUES (?, ?, ?, ?, ?, ?, ?)"
)

PUT_TERMS = """
INSERT INTO terms (population, relation, approval_above, is_scheduled) VALUES (?, ?, ?, ?)
ON CONFLICT (population) DO UPDATE SET approval_above = excluded.approval_above, is_scheduled = excluded.is_scheduled
WHERE terms.relation = excluded.relation
"""

OPEN_PURSE = """
INSERT INTO purses (population, page, kind, name, limit_rho, limit_delta,
                    spent_rho, spent_delta, spent_epsilon, impure, charges)
VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0)
"""

SET_LIMIT = """
UPDATE purses SET limit_rho = ?, limit_delta = ?
WHERE population = ? AND page = ? AND kind = ? AND name = ?
  AND limit_rho = ? AND limit_delta = ? AND spent_rho <= ? AND spent_delta <= ?
"""

# The heart of the ledger: what is over the limit is not charged, whoever else is writing.
PAY = """
UPDATE purses SET spent_rho = spent_rho + ?, spent_delta = spent_delta + ?, spent_epsilon = spent_epsilon + ?,
                  impure = impure + ?, charges = charges + ?
WHERE population = ? AND page = ? AND kind = ? AND name = ?
  AND spent_rho + ? <= limit_rho AND spent_delta + ? <= limit_delta
"""

ADD_CHARGE = """
INSERT INTO charges (key, entry, seq, population, dataset, version, definition, analyst, fingerprint, plan_digest,
                     is_tainted, is_public_data, is_done, lease, lease_until)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)
"""

TAKE_LEASE = """
UPDATE charges SET lease = ?, lease_until = ?
WHERE key = ? AND lease = ? AND is_done = 0 AND fingerprint = ? AND plan_digest = ?
"""

COMPLETE = """
UPDATE charges SET is_done = 1
WHERE key = ? AND entry = ? AND lease = ? AND is_done = 0 AND fingerprint = ? AND plan_digest = ?
"""

ADD_RELEASE = """
INSERT INTO releases (entry, key, digest, status, document) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""

SET_STATUS = "UPDATE releases SET status = ? WHERE entry = ? AND status = ?"

ADD_REGISTRATION = """
INSERT INTO registrations (dataset, version, population, fingerprint, domain_digest, entry)
VALUES (?, ?, ?, ?, ?, ?)
"""

ADD_CHECK = "INSERT INTO checks (population, value) VALUES (?, ?)"

TERMS = "SELECT population, relation, approval_above, is_scheduled FROM terms"
PURSES = """
SELECT population, page, kind, name, limit_rho, limit_delta, spent_rho, spent_delta, spent_epsilon, impure, charges
FROM purses
"""
CHARGES = """
SELECT key, entry, seq, population, dataset, version, definition, analyst, fingerprint, plan_digest,
       is_tainted, is_public_data, is_done, lease, lease_until
FROM charges
"""
RELEASES = "SELECT entry, key, digest, status FROM releases"
REGISTRATIONS = "SELECT dataset, version, population, fingerprint, domain_digest, entry FROM registrations"
CHECKS = "SELECT population, value FROM checks"
DOCUMENTS = """
SELECT r.entry, r.key, r.document, r.status, c.population, c.analyst, r.digest
FROM releases r JOIN charges c ON c.entry = r.entry
"""
ENTRIES = "SELECT seq, name, kind, population, line, previous, digest FROM entries"
DIGESTS = "SELECT seq, digest FROM entries WHERE seq BETWEEN ? AND ? ORDER BY seq"
PLANS = "SELECT r.entry, r.key, c.plan_digest FROM releases r JOIN charges c ON c.entry = r.entry"
