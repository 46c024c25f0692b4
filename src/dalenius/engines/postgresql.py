"""Microdata in a PostgreSQL table: the server counts and sums, and sends back cells.

`source = "postgresql://role@host/database?table=schema.name"` in a dataset document. The role may read and do nothing
else, which is checked; a password comes from the environment or from a password file, never from the document. How
values are read is decided as on every engine (`_pushdown`).
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar
from weakref import finalize

from dalenius.core.domain import Domain
from dalenius.engines._person_pushdown import TableOfRecords
from dalenius.engines._person_source import split_place
from dalenius.engines._postgresql_session import SCHEMES, Address, Session
from dalenius.engines._pushdown import Pushdown
from dalenius.engines._pushed_source import PushedSource
from dalenius.engines._relation import name_of

__all__ = ["PostgreSQLSource"]

_WHOLE = ("int2", "int4", "int8", "oid")
_FLOATS = ("float4", "float8")
_PLAIN_NUMBER = r"^[+-]?[0-9]+(\.[0-9]*)?$"
_PARTS = 4


class PostgreSQLDialect:
    """PostgreSQL's own words. Texts are compared byte by byte, whatever collation a column has."""

    double: ClassVar[str] = "DOUBLE PRECISION"
    bigint: ClassVar[str] = "int8"
    # Without it the planner would write the double of a value wherever it is used, and parse a text eight times.
    fence: ClassVar[str] = " OFFSET 0"
    texts: ClassVar[tuple[str, ...]] = ("text", "varchar", "bpchar")

    def is_nested(self, kind: str) -> bool:
        return kind == "nested"

    def name(self, column: str) -> str:
        return name_of(column)

    def plain(self, column: str, kind: str) -> str:
        """Numbers and Booleans as they are, doubles for floats, everything else as text."""
        if kind in _WHOLE:
            return f"CAST({column} AS BIGINT)"
        if kind in _FLOATS:
            return f"CAST({column} AS DOUBLE PRECISION)"
        return column if kind in ("bool", "numeric") else f'CAST({column} AS TEXT) COLLATE "C"'

    def is_missing(self, column: str, kind: str) -> str:
        """NaN is a value of its own kind here, equal to itself."""
        is_nan = f" OR {column} = 'NaN'" if kind in (*_FLOATS, "numeric") else ""
        return f"({column} IS NULL{is_nan})"

    def whole(self, column: str, kind: str) -> str | None:
        if kind == "bool":
            return f"CAST(CAST({column} AS INTEGER) AS BIGINT)"
        return f"CAST({column} AS BIGINT)" if kind in _WHOLE else None

    def real(self, column: str, kind: str) -> tuple[str, bool]:
        """A cast that would fail, for a number beyond all doubles, is not made."""
        if kind in _FLOATS:
            return f"CAST({column} AS DOUBLE PRECISION)", True
        if kind in _WHOLE:
            return f"CAST({column} AS DOUBLE PRECISION)", False
        if kind == "bool":
            return f"CAST(CAST({column} AS INTEGER) AS DOUBLE PRECISION)", True
        if kind == "numeric":
            size = f"abs({column})"
            is_safe = f"{size} = 0 OR ({size} > 1e-100 AND {size} < 1e100)"
            return f"CASE WHEN {is_safe} THEN CAST({column} AS DOUBLE PRECISION) END", False
        text = self.plain(column, kind)
        # A decimal of at most 15 digits is the decimal that its double prints as.
        is_plain = f"length({text}) <= 15 AND {text} ~ '{_PLAIN_NUMBER}'"
        return f"CASE WHEN {is_plain} THEN CAST({text} AS DOUBLE PRECISION) END", True

    def nearest(self, expression: str) -> str:
        return f"round({expression})"

    def wide(self, expression: str) -> str:
        return f"CAST({expression} AS NUMERIC)"

    def halved(self, expression: str, halvings: int) -> str:
        return f"({expression} >> {halvings})"

    def total(self, expression: str) -> str:
        """The sum of 64-bit integers is of arbitrary width here."""
        return f"sum({expression})"

    def place(self, expression: str, edges: tuple[int, ...]) -> str | None:
        if not edges:
            return "0"
        return f"width_bucket({expression}, CAST(ARRAY[{', '.join(map(str, edges))}] AS BIGINT[]))"

    def text(self, expression: str) -> str:
        return f'CAST({expression} AS TEXT) COLLATE "C"'

    def digits(self, text: str) -> str:
        return f"CAST({text} AS BIGINT)"

    def literal(self, content: str) -> str:
        """Quotation marks are doubled; a backslash is a sign like any other."""
        doubled = content.replace("'", "''")
        return f"CAST('{doubled}' AS TEXT)"

    def sort(self, kind: str) -> str:
        """Whatever is neither a number nor a Boolean is read as text."""
        if kind in _WHOLE:
            return "whole"
        if kind in _FLOATS:
            return "real"
        return "truth" if kind == "bool" else "other" if kind == "numeric" else "text"

    def first(self, day: str, code: str, condition: str) -> str:
        """Arrays are compared place by place."""
        return f"(min(CASE WHEN {condition} THEN ARRAY[{day}, {code}] END))[2]"


class PostgreSQLSource(PushedSource):
    """A table of a PostgreSQL database, seen through a declared domain."""

    schemes: ClassVar[tuple[str, ...]] = SCHEMES

    def __init__(
        self,
        domain: Domain,
        address: str,
        secret: bytes = b"",
        *,
        table: str = "",
        others: Mapping[str, Any] | None = None,
    ) -> None:
        own = Address.of(address, table)
        places = {name: own.beside(*split_place((others or {})[name])) for name in domain.tables}
        self._session = session = Session(own, tuple(places.values()))
        self._finalizer = finalize(self, session.close)
        self._state = session.token()
        super().__init__(
            domain,
            {name: session.tables[place.relation] for name, place in {"": own, **places}.items()},
            secret=secret,
            dialect=PostgreSQLDialect(),
            run=session.run,
            stream=session.stream,
        )

    def stamp(self) -> tuple[object, ...]:
        """The state of the database that is read: equal as long as no transaction can have changed a row of it."""
        state = self._session.token()
        if state != self._state:
            self._state = state
            self._pushed.forget()
        return state

    def _current(self) -> Pushdown:
        self.stamp()
        return self._pushed

    def close(self) -> None:
        """End the connection; a later question opens another."""
        self._session.close()

    def _hash_sums(self, key: bytes, table: TableOfRecords, columns: Sequence[str]) -> Sequence[int]:
        own = blake2b(key, digest_size=32, person=b"dalenius-rows-pg").digest()
        row = ", ".join(f"CAST({name_of(name)} AS TEXT)" for name in columns).replace("%", "%%")
        hashed = f"sha256(CAST(%s AS BYTEA) || convert_to(CAST(ROW({row}) AS TEXT), 'UTF8'))"
        parts = (f"sum(CAST(CAST('x' || substr(h, {1 + 15 * i}, 15) AS BIT(60)) AS BIGINT))" for i in range(_PARTS))
        relation = table.relation.replace("%", "%%")
        statement = (
            f"SELECT count(*), {', '.join(parts)} FROM (SELECT encode({hashed}, 'hex') AS h FROM {relation} OFFSET 0) q"
        )
        [[sums]] = self._session.run(statement, (own,))
        return [int(part or 0) for part in sums]
