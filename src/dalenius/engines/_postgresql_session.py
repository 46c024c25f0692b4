"""One read-only connection to a PostgreSQL table, which sees one state of the data from the first row to the last.

All that is read through a session is read in one snapshot, so that what was digested is what is counted. The server
ends a session that nobody uses; the next one looks again, and `token` tells whether anything in the database may have
changed.
"""

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

from dalenius.engines._person_pushdown import TableOfRecords
from dalenius.engines._relation import name_of
from dalenius.errors import DocumentError, InternalError, MissingExtra

SCHEMES = ("postgresql", "postgres")
_OPTIONS = ("host", "sslmode", "sslrootcert", "sslcert", "sslkey", "channel_binding", "gssencmode", "krbsrvname")
_NAME = re.compile(r'(?:(?P<schema>"(?:[^"]|"")+"|[^."]+)\.)?(?P<table>"(?:[^"]|"")+"|[^."]+)')
_BATCH_ROWS = 50_000
_NUMBERS = count()
_SETTINGS = (
    "search_path = pg_catalog",
    "row_security = off",
    "extra_float_digits = 1",
    "datestyle = 'ISO'",
    "intervalstyle = 'iso_8601'",
    "timezone = 'UTC'",
    "bytea_output = 'hex'",
    "lock_timeout = '30s'",
    "idle_in_transaction_session_timeout = '300s'",
)
_KINDS = """
    SELECT a.attname, CASE WHEN b.typcategory IN ('A', 'C', 'P', 'R') OR b.typname IN ('json', 'jsonb', 'xml')
                           THEN 'nested' ELSE b.typname::text END
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped"""
_TOKEN = """
    SELECT (pg_control_system()).system_identifier::text, pg_postmaster_start_time()::text,
        pg_current_snapshot()::text"""
_RELATION = """
    SELECT c.oid, row_security_active(c.oid), c.relkind::text IN ('r', 'p', 'm') AND NOT EXISTS (
        WITH RECURSIVE parts AS (
            SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid
            UNION SELECT i.inhrelid FROM pg_inherits i JOIN parts p ON i.inhparent = p.inhrelid)
        SELECT FROM parts JOIN pg_class k ON k.oid = parts.inhrelid WHERE k.relkind NOT IN ('r', 'p'))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
        AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"""
# A role may do what any role that it is a member of may do, because it can take that role on.
_MORE_THAN_READ = """
    WITH mine AS (SELECT * FROM pg_roles r WHERE pg_has_role(session_user, r.oid, 'MEMBER')),
    places AS (SELECT oid, nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)')
    SELECT 'is a superuser, or may create roles or databases, or may replicate' FROM mine
        WHERE rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication
    UNION SELECT 'may write all data, read or write files of the server, run programs, or stop the work of others'
        FROM mine
        WHERE rolname IN ('pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files',
            'pg_execute_server_program',
            'pg_signal_backend', 'pg_maintain', 'pg_create_subscription')
    UNION SELECT 'may create schemas in the database' FROM mine
        WHERE has_database_privilege(mine.oid, current_database(), 'CREATE')
    UNION SELECT 'may create tables in a schema' FROM mine, places
        WHERE has_schema_privilege(mine.oid, places.oid, 'CREATE')
    UNION SELECT 'owns a table, or may change one' FROM mine, pg_class c JOIN places ON places.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (c.relowner = mine.oid
            OR has_table_privilege(mine.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
            OR has_any_column_privilege(mine.oid, c.oid, 'INSERT, UPDATE, REFERENCES'))
    UNION SELECT 'may change a sequence' FROM mine, pg_class c JOIN places ON places.oid = c.relnamespace
        WHERE c.relkind = 'S' AND has_sequence_privilege(mine.oid, c.oid, 'UPDATE, USAGE')
    ORDER BY 1"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a table is: whatever a connection needs, except a password."""

    connection: Mapping[str, str]
    schema: str
    table: str

    @classmethod
    def of(cls, source: str, table: str = "") -> "Address":
        """From `postgresql://role@host:port/database?table=schema.name`; the message of a refusal shows none of it."""
        try:
            parts = urlsplit(source)
            options, port = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query))), parts.port
        except ValueError:
            raise DocumentError(f"The address of the database cannot be read. {_EXAMPLE}") from None
        if parts.password is not None or any("pass" in name.lower() for name in options):
            raise DocumentError(
                "The address of the database holds a password. Take it out of the document (and change it, if others "
                "could read it): PGPASSWORD in the environment or a password file (PGPASSFILE, ~/.pgpass) that only "
                "its owner can read are where it is looked for."
            )
        named = options.pop("table", "") or table
        if unknown := sorted(set(options) - set(_OPTIONS)):
            raise DocumentError(
                f"The address of the database has options that are not read: {', '.join(map(repr, unknown))}. Known are"
                f" table, {', '.join(_OPTIONS)}."
            )
        where = {"user": parts.username, "host": parts.hostname, "port": port, "dbname": parts.path.strip("/")}
        connection = {name: unquote(str(value)) for name, value in where.items() if value} | options
        match = _NAME.fullmatch(named)
        if "dbname" not in connection or match is None:
            raise DocumentError(f"The address names no database or no table. {_EXAMPLE}")
        schema, table = _names(match)
        return cls(connection=connection, schema=schema, table=table)

    @property
    def relation(self) -> str:
        return f"{name_of(self.schema)}.{name_of(self.table)}"

    def beside(self, source: str, table: str = "") -> "Address":
        """Another table of the same database: its name alone, or the same address with another name."""
        if "://" in source:
            other = Address.of(source, table)
            if other.connection != self.connection:
                raise DocumentError("Tables that are joined stand in one database, which reads them as of one moment.")
            return other
        match = _NAME.fullmatch(table)
        if source or match is None:
            raise DocumentError('A further table of a database is named: table = "schema.name" in [tables.…].')
        schema, table = _names(match)
        return replace(self, schema=schema, table=table)


_EXAMPLE = 'For example: source = "postgresql://reader@db.example/census?table=public.persons".'


def _names(match: re.Match[str]) -> list[str]:
    """Schema and table as they stand between quotation marks, or as they are."""
    names = (match[part] or "public" for part in ("schema", "table"))
    return [name[1:-1].replace('""', '"') if name.startswith('"') else name for name in names]


class Session:
    """A connection that is opened when it is needed, checked each time it is opened, and never shared with a fork."""

    def __init__(self, address: Address, others: Sequence[Address] = ()) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("postgres", "psycopg") from None
        self._psycopg = psycopg
        self._address = address
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._connection: Any = None
        self._state: tuple[object, ...] = ()
        self._others = others
        self.tables: dict[str, TableOfRecords] = {}

    def token(self) -> tuple[object, ...]:
        """Equal for two sessions exactly if no transaction ended between them: then both see the same rows."""
        with self._turn:
            if self._connection is not None:
                try:
                    self._connection.execute("SELECT 1")
                except self._psycopg.Error:
                    self.close()
            self._open()
            return self._state

    def run(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[list[Any]]:
        """All rows of a statement at once; parallel workers of the server may take part."""
        try:
            with self._turn:
                cursor = self._open().cursor(binary=True)
                rows = cursor.execute(statement, parameters or None).fetchall()
        except self._psycopg.Error:
            self._give_up()
        yield rows

    def stream(self, statement: str) -> Iterator[list[Any]]:
        try:
            with self._turn:
                cursor = self._open().cursor(name=f"rows_{next(_NUMBERS)}", binary=True)
                cursor.execute(statement)
            with cursor:
                while rows := cursor.fetchmany(_BATCH_ROWS):
                    yield rows
        except self._psycopg.Error:
            self._give_up()

    def close(self) -> None:
        with self._turn:
            connection, self._connection = self._connection, None
            if connection is not None and os.getpid() == self._process:
                with suppress(self._psycopg.Error):
                    connection.close()

    def _give_up(self) -> NoReturn:
        # What the server says may quote what the table holds.
        self.close()
        raise InternalError("The data could not be read by the engine.") from None

    def _open(self) -> Any:
        if os.getpid() != self._process:
            raise InternalError("Data are not shared with a forked process; open them there again.")
        if self._connection is None:
            if os.environ.get("PGSERVICE"):
                raise DocumentError(
                    "PGSERVICE is set, and nobody checks who can read its file. Write host, database and role into "
                    "the address."
                )
            try:
                self._connection = self._connected()
            except self._psycopg.Error as error:
                raise DocumentError(
                    "The table could not be opened in PostgreSQL: the server cannot be reached, or it does not know "
                    f"the role, its password or the database. Complaint: {type(error).__name__}."
                ) from None
        return self._connection

    def _connected(self) -> Any:
        options: dict[str, Any] = {**self._address.connection, "connect_timeout": 10, "autocommit": True}
        connection = self._psycopg.connect(**options)
        try:
            for setting in _SETTINGS:
                connection.execute(f"SET {setting}")
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._check(connection)
            self._state = tuple(connection.execute(_TOKEN).fetchall()[0])
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: Any) -> None:
        """The role may read and nothing else, and it sees the whole of a table that only transactions change."""
        more = [str(row[0]) for row in connection.execute(_MORE_THAN_READ).fetchall()]
        if more:
            raise DocumentError(
                f"The role of the database {'; it '.join(more)}. Dalenius reads with a role that may do nothing else: "
                "make one with CONNECT on the database, USAGE on the schema and SELECT on the table, and REVOKE CREATE "
                "ON SCHEMA public FROM PUBLIC where servers before version 15 grant it."
            )
        for address in (self._address, *self._others):
            self._check_table(connection, address)

    def _check_table(self, connection: Any, address: Address) -> None:
        entry = connection.execute(_RELATION, (address.schema, address.table)).fetchone()
        if entry is None:
            raise DocumentError(
                f"The database has no table {address.table!r} in the schema {address.schema!r} that this role may"
                " read. Names must be equal letter by letter."
            )
        number, is_filtered, is_stored = entry
        if is_filtered or not is_stored:
            raise DocumentError(
                "The source must be a table, a partitioned table or a materialised view whose rows this role sees all: "
                "what a view, a foreign table or a row security policy shows can change without a trace."
            )
        # The lock that reading takes keeps the table from being rewritten under the snapshot.
        connection.execute(f"SELECT FROM {address.relation} LIMIT 0")
        kinds = {str(name): str(kind) for name, kind in connection.execute(_KINDS, (number,)).fetchall()}
        before = self.tables.get(address.relation)
        if before is not None and kinds != before.kinds:
            raise InternalError("The columns of the table changed after it was opened; open it again.")
        self.tables[address.relation] = TableOfRecords(relation=address.relation, kinds=kinds)
