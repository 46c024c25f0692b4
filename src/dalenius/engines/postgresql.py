"""Microdata in a PostgreSQL table: the server counts and sums, and sends back cells.

`source = "postgresql://role@host/database?table=schema.name"` in a dataset document. The role may read and do nothing
else, which is checked; a password comes from the environment or from a password file, never from the document. How
values are read is decided as on every engine (`_pushdown`).
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar
from weakref import finalize

from dalenius.engines._number_sql import Dialect
from dalenius.engines._person_pushdown import TableOfRecords
from dalenius.engines._person_source import split_place
from dalenius.engines._postgresql_session import SCHEMES, Address, Session
from dalenius.engines._pushdown import Pushdown, Run
from dalenius.engines._pushed_source import PushedSource
from dalenius.engines._relation import name_of

__all__ = ["PostgreSQLSource"]

_PARTS = 4


class PostgreSQLDialect(Dialect):
    """PostgreSQL's own words. Texts are compared byte by byte, whatever collation a column has."""

    double = "DOUBLE PRECISION"
    bigint = "int8"
    # Without it the planner would write the double of a value wherever it is used, and parse a text eight times.
    fence = " OFFSET 0"
    wholes = ("int2", "int4", "int8", "oid")
    floats = ("float4", "float8")
    truth = "bool"
    texts = ("text", "varchar", "bpchar")
    sorts_with_nan = ("real", "other")
    nearest = "round({})".format
    wide = "CAST({} AS NUMERIC)".format
    halved = "({} >> {})".format
    # The sum of 64-bit integers is of arbitrary width here.
    total = "sum({})".format
    text = 'CAST({} AS TEXT) COLLATE "C"'.format
    digits = "CAST({} AS BIGINT)".format
    is_nan = "{} = 'NaN'".format
    truth_number = "CAST({} AS INTEGER)".format
    # A cast that would fail, for a number beyond all doubles, is not made.
    decimal_double = (
        "CASE WHEN abs({0}) = 0 OR (abs({0}) > 1e-100 AND abs({0}) < 1e100) THEN CAST({0} AS DOUBLE PRECISION) END"
    ).format
    text_double = (
        "CASE WHEN length({0}) <= 15 AND {0} ~ '^[+-]?[0-9]+(\\.[0-9]*)?$' THEN CAST({0} AS DOUBLE PRECISION) END"
    ).format

    def is_nested(self, kind: str) -> bool:
        return kind == "nested"

    def is_decimal(self, kind: str) -> bool:
        return kind == "numeric"

    def name(self, column: str) -> str:
        return name_of(column)

    def place(self, expression: str, edges: tuple[int, ...]) -> str | None:
        if not edges:
            return "0"
        return f"width_bucket({expression}, CAST(ARRAY[{', '.join(map(str, edges))}] AS BIGINT[]))"

    def literal(self, content: str) -> str:
        """Quotation marks are doubled; a backslash is a sign like any other."""
        doubled = content.replace("'", "''")
        return f"CAST('{doubled}' AS TEXT)"

    def first(self, day: str, code: str, condition: str) -> str:
        """Arrays are compared place by place."""
        return f"(min(CASE WHEN {condition} THEN ARRAY[{day}, {code}] END))[2]"


class PostgreSQLSource(PushedSource):
    schemes: ClassVar[tuple[str, ...]] = SCHEMES

    def _connect(
        self, address: str, table: str, others: Mapping[str, Any]
    ) -> tuple[Mapping[str, TableOfRecords], Dialect, Run, Run]:
        own = Address.of(address, table)
        places = {name: own.beside(*split_place(others[name])) for name in self.domain.tables}
        self._session = session = Session(own, tuple(places.values()))
        self._finalizer = finalize(self, session.close)
        self._state = session.token()
        tables = {name: session.tables[place.relation] for name, place in {"": own, **places}.items()}
        return tables, PostgreSQLDialect(), session.run, session.stream

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
