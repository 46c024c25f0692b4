"""Accounts, sessions, tokens, jobs and saved tables: the server's own records, in SQLite or PostgreSQL.

Nothing here is spent and nothing here is data: what was charged is in the ledger. Statements are written once, with `?`
for arguments, and are valid in both dialects.
"""

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dalenius.ledger.sqlite_files import create_private
from dalenius.server.errors import Unavailable

Row = tuple[Any, ...]
Run = Callable[..., list[Row]]

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS users (
        name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL, is_active BIGINT NOT NULL,
        created DOUBLE PRECISION NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS issued (name TEXT PRIMARY KEY, by_whom TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS proposals (
        population TEXT PRIMARY KEY, above TEXT NOT NULL, by_whom TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)""",
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


class StateStore:
    """A few connections that threads share; every write is one short transaction."""

    is_postgres: bool

    def __init__(self, location: str, most_connections: int = 8) -> None:
        self.location = location
        self.is_postgres = location.startswith(("postgresql://", "postgres://"))
        self._idle: deque[Any] = deque()
        self._turn = threading.BoundedSemaphore(most_connections)
        if not self.is_postgres:
            Path(location).parent.mkdir(parents=True, exist_ok=True)
            # Accounts and sessions are nobody else's, wherever the file lies; SQLite gives its log the same mode.
            create_private(Path(location))
            os.chmod(location, 0o600)
        with self.transaction() as run:
            if self.is_postgres:
                run("SELECT pg_advisory_xact_lock(7314)")
            for statement in _SCHEMA:
                run(statement)

    def _connect(self) -> Any:
        if self.is_postgres:
            import psycopg

            return psycopg.connect(self.location, autocommit=True, connect_timeout=5)
        connection = sqlite3.connect(self.location, timeout=30, isolation_level=None, check_same_thread=False)
        # Whoever changes the journal of a new file does not wait for another process that does the same.
        for pause in (0.05, 0.2, 0.8, 3.2, None):
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError:
                if pause is None:
                    raise
                time.sleep(pause)
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    @contextmanager
    def _borrowed(self) -> Iterator[Any]:
        """A connection; one that failed is closed, and its failure becomes one refusal."""
        with self._turn:
            connection = None
            try:
                connection = self._idle.pop() if self._idle else self._connect()
                yield connection
                self._idle.append(connection)
            except BaseException as error:
                if connection is not None:
                    self._idle.append(connection)
                if self._is_outage(error):
                    # The others of the same age will not be better.
                    with suppress(Exception):
                        self.close()
                    raise Unavailable("The server's store cannot be reached; try again.") from None
                raise

    def _is_outage(self, error: BaseException) -> bool:
        if self.is_postgres:
            import psycopg

            return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return isinstance(error, sqlite3.OperationalError)

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        """Run statements together: all or none. Yields a function from statement and arguments to rows."""
        with self._borrowed() as connection:
            cursor = connection.cursor()

            def run(statement: str, arguments: Sequence[Any] = ()) -> list[Row]:
                cursor.execute(self._spelled(statement), tuple(arguments))
                return list(cursor.fetchall()) if cursor.description else []

            cursor.execute("BEGIN" if self.is_postgres else "BEGIN IMMEDIATE")
            try:
                yield run
                cursor.execute("COMMIT")
            except BaseException as error:
                if not self._is_outage(error):
                    cursor.execute("ROLLBACK")
                raise

    def _spelled(self, statement: str) -> str:
        return statement.replace("?", "%s") if self.is_postgres else statement

    def read(self, statement: str, *arguments: Any) -> list[Row]:
        with self._borrowed() as connection:
            return list(connection.execute(self._spelled(statement), arguments).fetchall())

    def write(self, statement: str, *arguments: Any) -> list[Row]:
        """One statement in a transaction of its own; rows of a RETURNING clause."""
        with self.transaction() as run:
            return run(statement, arguments)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
