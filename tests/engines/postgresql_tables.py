"""Tables of a real PostgreSQL server to test on: loaded by its owner, read by a role that may do nothing else."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import count
from typing import Any

import psycopg

from dalenius.core.domain import Domain
from dalenius.engines.postgresql import PostgreSQLSource

Columns = Mapping[str, Sequence[Any]]
KINDS = {bool: "boolean", int: "bigint", float: "double precision", str: "text", Decimal: "numeric", date: "date"}
READER = "reader"


class Tables:
    """One database with a role that only reads, and as many tables as are wanted."""

    def __init__(self, server: Any, name: str = "microdata") -> None:
        self.server = server
        self.owner_url = server.database(name)
        self.url = self.owner_url.replace("ledger@", f"{READER}@")
        self._names = count()
        self.connect()
        self.owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        self.owner.execute(f"CREATE ROLE {READER} LOGIN")
        self.owner.execute("CREATE SCHEMA office")
        self.owner.execute(f"GRANT USAGE ON SCHEMA office TO {READER}")
        self.owner.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA office GRANT SELECT ON TABLES TO {READER}")

    def connect(self) -> None:
        """The owner's connection, again after a restart."""
        self.owner = psycopg.connect(self.owner_url, autocommit=True, connect_timeout=10)
        self.owner.execute("SET synchronous_commit = off")

    def close(self) -> None:
        """Let go of the owner's connection."""
        self.owner.close()

    def load(self, columns: Columns, kinds: Mapping[str, str] | None = None) -> str:
        """A new table of these columns; its name."""
        name = f"t{next(self._names)}"
        types = {n: (kinds or {}).get(n) or _kind(values) for n, values in columns.items()}
        declared = ", ".join(f'"{n}" {kind}' for n, kind in types.items())
        self.owner.execute(f"CREATE TABLE office.{name} ({declared})")
        with self.owner.cursor() as cursor, cursor.copy(f"COPY office.{name} FROM STDIN") as copy:
            for row in zip(*columns.values(), strict=True):
                copy.write_row(row)
        return name

    def source(self, name: str) -> str:
        """What a dataset document says."""
        return f"{self.url}?table=office.{name}"

    def open(self, domain: Domain, columns: Columns, secret: bytes) -> PostgreSQLSource:
        """A factory for the engine kit."""
        return PostgreSQLSource(domain, self.source(self.load(columns)), secret)

    def open_features(
        self, domain: Domain, columns: Columns, others: Mapping[str, Columns], secret: bytes
    ) -> PostgreSQLSource:
        """A factory for the kit of features."""
        further = {name: ("", f"office.{self.load(rows)}") for name, rows in others.items()}
        return PostgreSQLSource(domain, self.source(self.load(columns)), secret, others=further)


def _kind(values: Sequence[Any]) -> str:
    return next((KINDS[type(value)] for value in values if value is not None), "text")
