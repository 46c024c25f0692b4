"""The default store: one SQLite file with a write-ahead log, synchronised to disk at every commit."""

import atexit
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from dalenius.errors import DaleniusError, InternalError, LedgerCorrupt, LedgerMismatch, StorageError
from dalenius.ledger import schema
from dalenius.ledger.entry import GENESIS
from dalenius.ledger.rows import Row
from dalenius.ledger.sqlite_files import Identity, OpenFiles, create_private, identity_of, refuse_second_name
from dalenius.ledger.store import Query, Statement, WriteConflict

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
_open_stores: "WeakSet[SqliteStore]" = WeakSet()
_inherited: set[Identity | None] = set()
_FORKED = "A ledger is not shared with a forked process"


def _close_all() -> None:
    """Close the stores that nobody uses, at the end of the process."""
    for store in list(_open_stores):
        store.close_if_idle()


def _leave_inherited() -> None:  # pragma: no cover - called in forked children only
    """Leave the connections to the parent in a forked child, where SQLite believes that it holds their locks."""
    for store in list(_open_stores):
        _inherited.add(store.identity)
        store.leave()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_leave_inherited)


class _Turn:
    """Exclusive use of a store's connection by one thread; errors of SQLite are translated.

    A class, because a charge takes three turns and a generator costs as much as a statement.
    """

    __slots__ = ("_store",)

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def __enter__(self) -> None:
        """Wait for the connection and check that it is open, to the files that are there."""
        store = self._store
        if os.getpid() != store._pid:  # pragma: no cover - true in forked children only
            raise InternalError(f"{_FORKED}; open it there again.")
        store._turn.acquire()
        try:
            store._refuse_closed()
            if not store._connection.in_transaction:
                store.check()
        except BaseException:
            store._turn.release()
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._store._turn.release()
        if isinstance(error, sqlite3.DatabaseError):
            raise _translate(error) from error


class SqliteStore:
    """One connection to the file. Writers of several processes queue at a lock file, so that none starves.

    One thread at a time uses the connection, and closing waits for it: SQLite crashes where a connection is closed
    under a statement that runs. A store whose files were replaced refuses to be used.
    """

    _is_closed = True

    def __init__(self, path: Path, *, may_write: bool = True) -> None:
        # A link leads to one store, and a relative path stays where it was opened.
        self._path = path = path.resolve()
        self._pid = os.getpid()
        self._lock = -1
        self._turn = threading.RLock()
        self._connection = sqlite3.connect(":memory:")
        self._is_closed = False
        try:
            self._open(path) if may_write else self._look(path)
            self._files = OpenFiles(path)
            _open_stores.add(self)
        except OSError as error:
            self._release()
            raise StorageError(f"The ledger {path.name!r} cannot be opened: {error.strerror}.") from error
        except sqlite3.DatabaseError as error:
            self._release()
            raise _opening_error(path, error) from error
        except BaseException:
            self._release()
            raise

    @property
    def identity(self) -> Identity | None:  # pragma: no cover - asked for in forked children only
        return self._files.identity

    def _look(self, path: Path) -> None:
        """Open to read: nothing is created, and permission to write is not needed."""
        # Without a log and without the right to make one, the file is all there is.
        is_still = not Path(f"{path}-wal").exists() and not os.access(path.parent, os.W_OK)
        place = f"{path.as_uri()}?mode=ro" + ("&immutable=1" if is_still else "")
        self._refuse_inherited(path)
        self._connection = sqlite3.connect(place, uri=True, timeout=60.0, isolation_level=None, check_same_thread=False)
        if "head" not in self._names():
            raise LedgerMismatch(f"{path.name!r} is not a ledger.")

    def _names(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master").fetchall()}

    def _open(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        create_private(path)
        refuse_second_name(path, os.stat(path))
        self._refuse_inherited(path)
        self._lock = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        self._connection = sqlite3.connect(path, timeout=60.0, isolation_level=None, check_same_thread=False)
        # A new file changes to the log under a lock that SQLite does not wait for: one process at a time.
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            settings = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "wal_autocheckpoint = 8000")
            for pragma in settings:
                self._connection.execute(f"PRAGMA {pragma}")
            self._create()
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _refuse_inherited(self, path: Path) -> None:
        """Raise in a forked child: a second connection would take no locks, and lose its log when the parent closes."""
        if identity_of(path) in _inherited:  # pragma: no cover - true in forked children only
            raise InternalError(
                f"{_FORKED}: this one was forked while {path.name!r} was open, and SQLite would lose its locks. Close "
                "the ledger before the fork, or start the process anew (multiprocessing: the method 'spawn')."
            )

    def _create(self) -> None:
        # One look: between two of them somebody else may finish making the tables.
        names = self._names()
        if "head" in names:
            return
        if names:
            raise LedgerMismatch(f"{self._path.name!r} is a database, but not a ledger.")
        self._connection.execute("BEGIN IMMEDIATE")
        for statement in schema.TABLES.format(**schema.SQLITE).split(";"):
            self._connection.execute(statement)
        for guard in _GUARDS.strip().split("END;")[:-1]:
            self._connection.execute(guard + "END")
        self._connection.execute(schema.FIRST_HEAD, (GENESIS, b""))
        self._connection.execute("COMMIT")

    def check(self) -> None:
        """Raise `LedgerCorrupt` where the store or its log is not the file that this connection has open."""
        with self._turn:
            # Closing removes the log; nobody closes while the files are compared.
            self._refuse_closed()
            try:
                self._files.check()
            except OSError as error:
                raise StorageError(f"The ledger {self._path.name!r} cannot be reached: {error.strerror}.") from error

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise StorageError(f"The ledger {self._path.name!r} was closed; open it again.")

    @contextmanager
    def fresh(self) -> Iterator["SqliteStore"]:
        store = SqliteStore(self._path, may_write=False)
        try:
            yield store
        finally:
            store.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a write transaction; the log is synchronised before COMMIT returns."""
        with _Turn(self):
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            finally:
                self._roll_back()
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with _Turn(self):
            try:
                self._connection.execute("BEGIN")
                yield
            finally:
                self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def run(self, statements: Sequence[Statement]) -> list[int]:
        with _Turn(self):
            return [self._connection.executemany(sql, rows).rowcount for sql, rows in statements]

    def query(self, sql: str, parameters: Row = ()) -> list[Row]:
        return self.query_all([(sql, parameters)])[0]

    def query_all(self, queries: Sequence[Query]) -> list[list[Row]]:
        with _Turn(self):
            return [self._connection.execute(sql, parameters).fetchall() for sql, parameters in queries]

    def close(self) -> None:
        """Checkpoint the log and close, once no thread uses the store. Does nothing in a forked child."""
        if os.getpid() != self._pid:  # pragma: no cover - true in forked children only
            return
        with self._turn:
            if self._is_closed:
                return
            try:
                self._files.check()
            except (DaleniusError, OSError):
                self._abandon()
            else:
                # The log is emptied into the file, unless it is in use: whoever uses it does so when they close. Every
                # line stands in the log, and is found there when the ledger is opened next.
                with suppress(OSError, sqlite3.Error):
                    if self._lock >= 0:
                        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        self._connection.execute("PRAGMA busy_timeout = 0")
                        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._release()

    def close_if_idle(self) -> None:
        if self._turn.acquire(blocking=False):
            try:
                self.close()
            finally:
                self._turn.release()

    def leave(self) -> None:  # pragma: no cover - called in forked children only
        """Leave connection and lock to the parent of this forked process."""
        self._abandon()
        if self._lock >= 0:
            # The parent's descriptor holds the lock on.
            os.close(self._lock)
            self._lock = -1

    def _abandon(self) -> None:
        """Leave the connection open: closing it would write its log over what others have written since."""
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
        self._connection = sqlite3.connect(":memory:")

    def _release(self) -> None:
        self._is_closed = True
        _open_stores.discard(self)
        self._connection.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __del__(self) -> None:
        self.close()


def _translate(error: sqlite3.DatabaseError) -> Exception:
    """Return an error of SQLite as one of ours: a write conflict, a disk that refuses, or a damaged file."""
    if isinstance(error, sqlite3.IntegrityError):
        return WriteConflict(str(error))
    if isinstance(error, sqlite3.OperationalError):
        # Without a code of SQLite: a column holds what Python cannot read as text.
        if getattr(error, "sqlite_errorcode", None) in (None, sqlite3.SQLITE_ERROR):
            return LedgerCorrupt(f"The ledger's tables are not those that were made: {error}.")
        return StorageError(f"The ledger could not be read or written: {error}.")
    return LedgerCorrupt(f"The ledger's file is damaged: {error}. Restore it from the backup.")


def _opening_error(path: Path, error: sqlite3.DatabaseError) -> DaleniusError:
    if not path.exists():
        return LedgerMismatch(f"There is no ledger at {str(path)!r}.")
    if isinstance(error, sqlite3.OperationalError):
        return StorageError(f"The ledger {path.name!r} cannot be opened: {error}.")
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return LedgerMismatch(f"{path.name!r} cannot be opened as a ledger: {error}.")
    return LedgerCorrupt(f"The ledger's file {path.name!r} is damaged: {error}. Restore it from the backup.")
