"""Accounts, sessions, tokens, jobs and saved tables: the server's own records, in SQLite or PostgreSQL.

Nothing here is spent and nothing here is data: what was charged is in the ledger. Statements are written once, with `?`
for arguments, and are valid in both dialects.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dalenius.server.errors import Unavailable

Row = tuple[Any, ...]

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS users (
        name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL, is_active BIGINT NOT NULL,
        created DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS sessions (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS tokens (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, secret TEXT NOT NULL, label TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS jobs (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, dataset TEXT NOT NULL, request TEXT NOT NULL, cells BIGINT NOT NULL,
        state TEXT NOT NULL, stage TEXT NOT NULL, entry TEXT NOT NULL, error TEXT NOT NULL, approved_by TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, started DOUBLE PRECISION NOT NULL, visible DOUBLE PRECISION NOT NULL,
        worker TEXT NOT NULL, lease_until DOUBLE PRECISION NOT NULL, not_before DOUBLE PRECISION NOT NULL,
        attempts BIGINT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS jobs_state ON jobs (state, name)",
    "CREATE INDEX IF NOT EXISTS jobs_name ON jobs (name, started)",
    """CREATE TABLE IF NOT EXISTS idempotency (
        name TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, job TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, PRIMARY KEY (name, key))""",
    """CREATE TABLE IF NOT EXISTS saved (
        name TEXT NOT NULL, title TEXT NOT NULL, dataset TEXT NOT NULL, request TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, PRIMARY KEY (name, title))""",
)


class Store:
    """One connection for each thread; every write is one short transaction."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.is_postgres = location.startswith(("postgresql://", "postgres://"))
        self._local = threading.local()
        self._all: list[Any] = []
        self._lock = threading.Lock()
        if not self.is_postgres:
            Path(location).parent.mkdir(parents=True, exist_ok=True)
        with self.transaction() as run:
            if self.is_postgres:
                run("SELECT pg_advisory_xact_lock(7314)", ())
            for statement in _SCHEMA:
                run(statement, ())

    def _connection(self) -> Any:
        connection = getattr(self._local, "connection", None)
        if connection is None or (self.is_postgres and connection.closed):
            connection = self._connect()
            self._local.connection = connection
            with self._lock:
                self._all.append(connection)
        return connection

    def _connect(self) -> Any:
        if self.is_postgres:
            import psycopg

            try:
                return psycopg.connect(self.location, autocommit=True, connect_timeout=5)
            except psycopg.Error:
                raise Unavailable("The server's store cannot be reached; try again.") from None
        connection = sqlite3.connect(self.location, timeout=30, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Run statements together: all or none. Yields a function from statement and arguments to rows."""
        connection = self._connection()
        cursor = connection.cursor()

        def run(statement: str, arguments: Sequence[Any] = ()) -> list[Row]:
            cursor.execute(statement.replace("?", "%s") if self.is_postgres else statement, tuple(arguments))
            return list(cursor.fetchall()) if cursor.description else []

        try:
            cursor.execute("BEGIN" if self.is_postgres else "BEGIN IMMEDIATE")
            yield run
            cursor.execute("COMMIT")
        except BaseException as error:
            self._abandon(connection, cursor)
            if self._is_outage(error):
                raise Unavailable("The server's store cannot be reached; try again.") from None
            raise

    def _abandon(self, connection: Any, cursor: Any) -> None:
        try:
            cursor.execute("ROLLBACK")
        except Exception:
            self._local.connection = None
            connection.close()

    def _is_outage(self, error: BaseException) -> bool:
        if self.is_postgres:
            import psycopg

            return isinstance(error, psycopg.OperationalError)
        return isinstance(error, sqlite3.OperationalError)

    def read(self, statement: str, *arguments: Any) -> list[Row]:
        """One statement that changes nothing."""
        if self.is_postgres:
            with self.transaction() as run:
                return run(statement, arguments)  # type: ignore[no-any-return]
        return self._connection().execute(statement, arguments).fetchall()  # type: ignore[no-any-return]

    def write(self, statement: str, *arguments: Any) -> list[Row]:
        """One statement in a transaction of its own; rows of a RETURNING clause."""
        with self.transaction() as run:
            return run(statement, arguments)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
