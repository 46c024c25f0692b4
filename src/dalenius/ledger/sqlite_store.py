"""The default store: one SQLite file with a write-ahead log, synchronised to disk at every commit."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dalenius.errors import LedgerMismatch
from dalenius.ledger import schema
from dalenius.ledger.entry import GENESIS
from dalenius.ledger.rows import Row
from dalenius.ledger.store import Query, Raced, Statement

_GUARDS = """
CREATE TRIGGER IF NOT EXISTS entries_stay BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger line is never edited'); END;
CREATE TRIGGER IF NOT EXISTS entries_remain BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger line is never removed'); END;
CREATE TRIGGER IF NOT EXISTS documents_stay BEFORE UPDATE OF document, digest, entry, key ON releases
BEGIN SELECT RAISE(ABORT, 'a release is never edited'); END;
CREATE TRIGGER IF NOT EXISTS releases_remain BEFORE DELETE ON releases
BEGIN SELECT RAISE(ABORT, 'a release is never removed'); END;
"""


class SqliteStore:
    """One connection to the file. Writers of several processes queue at a lock file, so that nobody starves."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._lock = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
            self._connection = sqlite3.connect(
                path, timeout=60.0, isolation_level=None, check_same_thread=False
            )
            for pragma in (
                "journal_mode = WAL",
                "synchronous = FULL",
                "foreign_keys = ON",
                "wal_autocheckpoint = 8000",
            ):
                self._connection.execute(f"PRAGMA {pragma}")
            self._create()
        except (sqlite3.DatabaseError, OSError) as error:
            raise LedgerMismatch(f"{path.name!r} cannot be opened as a ledger: {error}.") from error

    def _create(self) -> None:
        if self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'head'").fetchone():
            return
        if self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise LedgerMismatch(f"{self._path.name!r} is a database, but not a ledger.")
        with self.transaction():
            for statement in schema.TABLES.format(blob="BLOB").split(";"):
                self._connection.execute(statement)
            for guard in _GUARDS.strip().split("END;")[:-1]:
                self._connection.execute(guard + "END")
            self._connection.execute(schema.FIRST_HEAD, (GENESIS,))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Durable: the log is synchronised before COMMIT returns."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A read transaction of the log: writers go on, this reader does not see them."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def run(self, statements: Sequence[Statement]) -> list[int]:
        """Rows touched by each statement, all of its executions together."""
        try:
            return [self._connection.executemany(sql, rows).rowcount for sql, rows in statements]
        except sqlite3.IntegrityError as error:
            raise Raced(str(error)) from error

    def ask(self, sql: str, parameters: Row = ()) -> list[Row]:
        """Rows of a query."""
        return self._connection.execute(sql, parameters).fetchall()

    def ask_all(self, queries: Sequence[Query]) -> list[list[Row]]:
        """Rows of each query."""
        return [self.ask(sql, parameters) for sql, parameters in queries]

    def close(self) -> None:
        """Let go of file and lock."""
        self._connection.close()
        os.close(self._lock)
