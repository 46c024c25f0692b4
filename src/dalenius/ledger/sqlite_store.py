"""The default store: one SQLite file with a write-ahead log, synchronised to disk at every commit."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dalenius.errors import LedgerMismatch, StorageError
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
    """One connection to the file. Writers of several processes queue at a lock file, so that nobody starves.

    One thread at a time uses the connection, and closing waits for it: SQLite crashes where a connection is closed
    under a statement that runs.
    """

    def __init__(self, path: Path, *, may_write: bool = True) -> None:
        self._path = path
        self._lock = -1
        self._is_closed = False
        self._turn = threading.RLock()
        self._connection = sqlite3.connect(":memory:")
        try:
            self._open(path) if may_write else self._look(path)
        except OSError as error:
            self.close()
            raise StorageError(f"The ledger {path.name!r} cannot be opened: {error.strerror}.") from error
        except sqlite3.DatabaseError as error:
            self.close()
            raise LedgerMismatch(f"{path.name!r} cannot be opened as a ledger: {error}.") from error
        except BaseException:
            self.close()
            raise

    def _look(self, path: Path) -> None:
        """For an auditor: nothing is made, and permission to write is not needed."""
        # Without a log and without the right to make one, the file is all there is.
        is_still = not Path(f"{path}-wal").exists() and not os.access(path.parent, os.W_OK)
        place = f"{path.resolve().as_uri()}?mode=ro" + ("&immutable=1" if is_still else "")
        self._connection = sqlite3.connect(
            place, uri=True, timeout=60.0, isolation_level=None, check_same_thread=False
        )
        if "head" not in self._names():
            raise LedgerMismatch(f"{path.name!r} is not a ledger.")

    def _names(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master").fetchall()}

    def _open(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        self._connection = sqlite3.connect(path, timeout=60.0, isolation_level=None, check_same_thread=False)
        # A new file changes to the log under a lock that SQLite does not wait for: one process at a time.
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            for pragma in (
                "journal_mode = WAL",
                "synchronous = FULL",
                "foreign_keys = ON",
                "wal_autocheckpoint = 8000",
            ):
                self._connection.execute(f"PRAGMA {pragma}")
            self._create()
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _create(self) -> None:
        # One look: between two of them somebody else may finish making the tables.
        names = self._names()
        if "head" in names:
            return
        if names:
            raise LedgerMismatch(f"{self._path.name!r} is a database, but not a ledger.")
        with self.transaction():
            for statement in schema.TABLES.format(blob="BLOB").split(";"):
                self._connection.execute(statement)
            for guard in _GUARDS.strip().split("END;")[:-1]:
                self._connection.execute(guard + "END")
            self._connection.execute(schema.FIRST_HEAD, (GENESIS,))

    @contextmanager
    def _used(self) -> Iterator[None]:
        """The connection is this thread's alone, and open."""
        with self._turn:
            if self._is_closed:
                raise StorageError(f"The ledger {self._path.name!r} was closed; open it again.")
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Durable: the log is synchronised before COMMIT returns."""
        with self._used():
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise StorageError(f"The ledger could not be written: {error}.") from error
                raise
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A read transaction of the log: writers go on, this reader does not see them."""
        with self._used():
            try:
                self._connection.execute("BEGIN")
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def run(self, statements: Sequence[Statement]) -> list[int]:
        """Rows touched by each statement, all of its executions together."""
        with self._used():
            try:
                return [self._connection.executemany(sql, rows).rowcount for sql, rows in statements]
            except sqlite3.IntegrityError as error:
                raise Raced(str(error)) from error

    def ask(self, sql: str, parameters: Row = ()) -> list[Row]:
        """Rows of a query."""
        with self._used():
            return self._connection.execute(sql, parameters).fetchall()

    def ask_all(self, queries: Sequence[Query]) -> list[list[Row]]:
        """Rows of each query."""
        return [self.ask(sql, parameters) for sql, parameters in queries]

    def close(self) -> None:
        """Let go of file and lock, once whoever uses them is done."""
        with self._turn:
            self._is_closed = True
            self._connection.close()
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1
