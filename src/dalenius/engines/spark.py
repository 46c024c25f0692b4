"""Microdata in Spark: Parquet files that the workers of a cluster count and sum, so that only cells come back.

`source = "spark://local?path=/data/persons"` in a dataset document, or the host and port of a standalone cluster. How
values are read is decided as on every engine (`_pushdown`).
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar
from weakref import finalize

from dalenius.engines._number_sql import Dialect
from dalenius.engines._person_pushdown import TableOfRecords
from dalenius.engines._person_source import split_place
from dalenius.engines._pushdown import Run
from dalenius.engines._pushed_source import PushedSource
from dalenius.engines._relation import latest_change, stamps_of
from dalenius.engines._spark_session import SCHEME, SparkAddress, SparkFrame

__all__ = ["SparkSource"]

_FLOATS = ("float", "double")
# The end of the text, and not the place before a line end: nothing may follow.
_PLAIN_NUMBER = "^[+-]?[0-9]+([.][0-9]*)?(?s:(?!.))"
_MOST_EDGES = 64
# Of a row's hash so many parts of so many hexadecimal digits are added up, in words of so many bits.
_PARTS = 4
_DIGITS = 15
_BITS = 20
_MASK = 2**_BITS - 1


class SparkDialect(Dialect):
    double = "DOUBLE"
    bigint = "bigint"
    wholes = ("tinyint", "smallint", "int", "bigint")
    floats = _FLOATS
    truth = "boolean"
    texts = ("string",)
    bare = ("string",)
    nearest = "rint({})".format
    # 38 digits; two numbers of 52 bits have 32.
    wide = "CAST({} AS DECIMAL(38, 0))".format
    halved = "shiftright({}, {})".format
    # The sum has 38 digits: it holds 2 * 10^19 numbers below 2^62.
    total = "sum(CAST({} AS DECIMAL(28, 0)))".format
    text = "CAST({} AS STRING)".format
    # A branch that is not taken may be worked out all the same, and must not fail.
    digits = "try_cast({} AS BIGINT)".format
    is_nan = "isnan({})".format
    truth_number = "{}".format
    # Every number of a type of this engine has a double.
    decimal_double = "CAST({} AS DOUBLE)".format
    text_double = (
        f"CASE WHEN length({{0}}) <= 15 AND {{0}} RLIKE '{_PLAIN_NUMBER}' THEN try_cast({{0}} AS DOUBLE) END"
    ).format

    def is_nested(self, kind: str) -> bool:
        return kind.startswith(("array", "struct", "map", "variant"))

    def is_decimal(self, kind: str) -> bool:
        return kind.startswith("decimal")

    def name(self, column: str) -> str:
        return "`" + column.replace("`", "``") + "`"

    def place(self, expression: str, edges: tuple[int, ...]) -> str | None:
        if len(edges) > _MOST_EDGES:
            return None
        cases = " ".join(f"WHEN {expression} < {edge}L THEN {i}" for i, edge in enumerate(edges))
        return f"CASE {cases} ELSE {len(edges)} END" if edges else "0"

    def literal(self, content: str) -> str:
        """By its bytes: no sign has a meaning of its own."""
        return f"CAST(X'{content.encode('utf-8', 'surrogatepass').hex()}' AS STRING)"

    def first(self, day: str, code: str, condition: str) -> str:
        """Structures are compared field by field."""
        return f"(min(CASE WHEN {condition} THEN struct({day} AS a, {code} AS b) END)).b"


class SparkSource(PushedSource):
    schemes: ClassVar[tuple[str, ...]] = (SCHEME,)

    def _connect(
        self, address: str, table: str, others: Mapping[str, Any]
    ) -> tuple[Mapping[str, TableOfRecords], Dialect, Run, Run]:
        """A path holds one table, so that `table` names nothing."""
        own = SparkAddress.of(address)
        places = {name: own.beside(split_place(others[name])[0]) for name in self.domain.tables}
        self._frame = SparkFrame(own)
        self._frames = {"": self._frame} | {n: SparkFrame(place, self._frame) for n, place in places.items()}
        self._finalizer = finalize(self, _close_all, tuple(self._frames.values()))
        tables = {n: TableOfRecords(relation=frame.relation, kinds=frame.kinds) for n, frame in self._frames.items()}
        return tables, SparkDialect(), self._frame.run, self._frame.stream

    def stamp(self) -> tuple[tuple[Any, ...], ...] | None:
        """Names, places, sizes and times of files on this machine; of data elsewhere only a digest tells."""
        try:
            files = [frame.files() for frame in self._frames.values()]
            return None if None in files else stamps_of(path for own in files for path in own or ())
        except OSError:
            return None

    def changed_at(self) -> float | None:
        return latest_change(self.stamp()) if self._frame.is_here else None

    def close(self) -> None:
        _close_all(tuple(self._frames.values()))

    def _hash_sums(self, key: bytes, table: TableOfRecords, columns: Sequence[str]) -> Sequence[int]:
        own = blake2b(key, digest_size=32, person=b"dalenius-rows-sp").hexdigest()
        row = ", ".join(_unique_text(name, table.kinds[name]) for name in columns)
        hashes = f"SELECT sha2(concat('{own}', {row}), 256) AS h FROM {table.relation}"
        parts = (
            f"CAST(conv(substr(h, {1 + _DIGITS * i}, {_DIGITS}), 16, 10) AS BIGINT) AS x{i}" for i in range(_PARTS)
        )
        # Sums of twenty bits at a time are whole numbers of 64 bits, for as many rows as there may be: decimals take
        # twice as long.
        sums = (f"sum(shiftright(x{i}, {shift}) & {_MASK}L)" for i in range(_PARTS) for shift in (0, _BITS, 2 * _BITS))
        statement = f"SELECT count(*), {', '.join(sums)} FROM (SELECT {', '.join(parts)} FROM ({hashes}) q) r"
        [[row_of_sums]] = self._frame.run(statement)
        count, *words = (int(word or 0) for word in row_of_sums)
        return [
            count,
            *(words[i] + (words[i + 1] << _BITS) + (words[i + 2] << 2 * _BITS) for i in range(0, len(words), 3)),
        ]


def _close_all(frames: Sequence[SparkFrame]) -> None:
    for frame in frames:
        frame.close()


def _unique_text(name: str, kind: str) -> str:
    """A value as text that no other value has; doubles in base 16, as versions of Java print decimals differently."""
    column = SparkDialect().name(name)
    text = f"format_string('%a', CAST({column} AS DOUBLE))" if kind in _FLOATS else f"CAST({column} AS STRING)"
    return f"CASE WHEN {column} IS NULL THEN '-' ELSE concat(length({text}), ':', {text}) END"
