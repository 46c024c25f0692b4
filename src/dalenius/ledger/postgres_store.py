"""The production store: a PostgreSQL database, which several servers may share."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from dalenius.errors import InternalError, LedgerCorrupt, LedgerMismatch, MissingExtra, StorageError
from dalenius.ledger import schema
from dalenius.ledger.entry import GENESIS
from dalenius.ledger.rows import Row
from dalenius.ledger.store import ConnectionLost, Query, Statement, WriteConflict

_SCHEMA = "dalenius"
_GUARDS = """
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'what the ledger holds is never edited or removed'; END $$;
CREATE OR REPLACE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE OR REPLACE TRIGGER documents_stay BEFORE UPDATE OF document, digest, entry, key OR DELETE ON releases
    FOR EACH ROW EXECUTE FUNCTION refuse()
"""


class PostgresStore:
    """One connection to the database. Commits wait for the disk, whatever the server's default is.

    One thread at a time uses the connection, and closing waits for it.
    """

    def __init__(self, location: str, isolation: str = "read committed", *, may_write: bool = True) -> None:
        try:
            import psycopg
        except ImportError:  # pragma: no cover - the tests' environment has the extra
            raise MissingExtra("postgres", "psycopg") from None
        self._location = location
        self._isolation = isolation
        self._may_write = may_write
        self._psycopg = psycopg
        self._is_inside = False
        self._is_closed = False
        self._turn = threading.RLock()
        self._pid = os.getpid()
        self._begin: tuple[str, ...] = ()
        self._witness: PostgresStore | None = None
        try:
            self._connect()
        except psycopg.Error as error:
            raise StorageError(f"The ledger's database cannot be opened: {type(error).__name__}.") from error

    def _connect(self) -> None:
        self._connection = self._psycopg.connect(self._location, autocommit=True)
        try:
            self._cursor = self._connection.cursor()
            # A writer that is stopped in the middle must not block the others for ever.
            for setting in (
                "synchronous_commit = on",
                "lock_timeout = '30s'",
                "idle_in_transaction_session_timeout = '120s'",
                f"search_path = {_SCHEMA}",
            ):
                self._cursor.execute(f"SET {setting}")
            if not self._has_tables():
                if not self._may_write:
                    raise LedgerMismatch("There is no ledger in this database.")
                self._create()
        except BaseException:
            # A connection that was only half prepared is never used.
            self._connection.close()
            raise

    def _has_tables(self) -> bool:
        return self._cursor.execute(f"SELECT to_regclass('{_SCHEMA}.head')").fetchone() != (None,)

    def _create(self) -> None:
        # The lock lets one of several new servers make the tables; it is not needed for anything later.
        self._cursor.execute("SELECT pg_advisory_lock(742061)")
        try:
            self._cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
            if not self._has_tables():
                with self._connection.transaction():
                    self._cursor.execute(schema.TABLES.format(**schema.POSTGRES))
                    self._cursor.execute(_GUARDS)
                    self._cursor.execute(_placeholders(schema.FIRST_HEAD), (GENESIS, b""))
        finally:
            self._cursor.execute("SELECT pg_advisory_unlock(742061)")

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Hold the connection for one thread; refuses a closed store."""
        if os.getpid() != self._pid:  # pragma: no cover - true in forked children only
            raise InternalError("A ledger is not shared with a forked process; open it there again.")
        with self._turn:
            if self._is_closed:
                raise StorageError("The ledger was closed; open it again.")
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a write transaction; writers queue at the head's row, so that few batches conflict."""
        begin = (f"BEGIN ISOLATION LEVEL {self._isolation}", "SELECT seq FROM head WHERE id = 1 FOR UPDATE")
        with self._bracket(begin, "COMMIT"):
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._bracket(("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",), "ROLLBACK"):
            yield

    @contextmanager
    def _bracket(self, begin: tuple[str, ...], end: str) -> Iterator[None]:
        """Send `begin` with the first call inside; without one there is nothing to end."""
        with self._used(), self._translated():
            self._reconnect()
            self._begin = begin
            self._is_inside = True
            try:
                yield
                if not self._begin:
                    self._cursor.execute(end)
            except BaseException:
                if not self._connection.closed:
                    with suppress(self._psycopg.Error):
                        self._cursor.execute("ROLLBACK")
                raise
            finally:
                self._is_inside = False
                self._begin = ()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        errors = self._psycopg.errors
        try:
            yield
        except (errors.DiskFull, errors.ReadOnlySqlTransaction) as error:
            raise StorageError(f"The ledger's database refused: {type(error).__name__}.") from error
        except (errors.DataCorrupted, errors.IndexCorrupted, errors.UndefinedTable, errors.UndefinedColumn) as error:
            raise LedgerCorrupt(f"The ledger's database is damaged: {type(error).__name__}.") from error
        except (errors.SerializationFailure, errors.DeadlockDetected, errors.IntegrityError) as error:
            raise WriteConflict(type(error).__name__) from error
        except (self._psycopg.OperationalError, self._psycopg.InterfaceError) as error:
            raise ConnectionLost("The connection to the ledger's database was lost.") from error

    def _reconnect(self) -> None:
        if self._connection.broken or self._connection.closed:
            self._connection.close()
            self._connect()

    def run(self, statements: Sequence[Statement]) -> list[int]:
        with self._used():
            cursors = [self._connection.cursor() for _ in statements]
            with self._pipeline():
                self._send_begin()
                for cursor, (sql, rows) in zip(cursors, statements, strict=True):
                    cursor.executemany(_placeholders(sql), rows)
            return [int(cursor.rowcount) for cursor in cursors]

    def query(self, sql: str, parameters: Row = ()) -> list[Any]:
        return self.query_all([(sql, parameters)])[0]

    def query_all(self, queries: Sequence[Query]) -> list[list[Any]]:
        """Return the rows of each query; reconnects first, but never inside a transaction."""
        with self._used():
            if self._is_inside:
                return self._fetch(queries)
            with self._translated():
                self._reconnect()
                return self._fetch(queries)

    def _fetch(self, queries: Sequence[Query]) -> list[list[Any]]:
        if len(queries) == 1 and not self._begin:
            sql, parameters = queries[0]
            return [self._cursor.execute(_placeholders(sql), parameters).fetchall()]
        cursors = [self._connection.cursor() for _ in queries]
        with self._pipeline():
            self._send_begin()
            for cursor, (sql, parameters) in zip(cursors, queries, strict=True):
                cursor.execute(_placeholders(sql), parameters)
        return [cursor.fetchall() for cursor in cursors]

    @contextmanager
    def _pipeline(self) -> Iterator[None]:
        """Close the connection after an error: the client would believe in statements that the server skipped."""
        try:
            with self._connection.pipeline():
                yield
        except BaseException:
            self._connection.close()
            raise

    def _send_begin(self) -> None:
        for sql in self._begin:
            self._cursor.execute(sql)
        self._begin = ()

    def check(self) -> None:
        """Do nothing: the server owns its files, and a database that is created anew ends its connections."""

    @contextmanager
    def fresh(self) -> Iterator["PostgresStore"]:
        """Yield a second connection, which only reads; it is kept, because all connections see one store."""
        if self._witness is None:
            try:
                self._witness = PostgresStore(self._location, may_write=False)
            except StorageError as error:
                raise ConnectionLost("The ledger's database cannot be reached.") from error
        yield self._witness

    def close(self) -> None:
        with self._turn:
            self._is_closed = True
            self._connection.close()
            if self._witness is not None:
                self._witness.close()


@lru_cache(maxsize=1 << 10)
def _placeholders(sql: str) -> str:
    return sql.replace("?", "%s")
