"""Microdata behind DuckDB: CSV, Parquet, DuckDB files, Arrow tables and data frames. The default engine.

DuckDB reads and, for small tables, groups raw values; each distinct raw value is then read against the
declaration by the code that defines it for every engine. Which road is taken depends on the declared number of
cells and on column types, never on the content. Where persons have several rows, the rows that count are chosen once
and kept in memory as codes. Nothing is spilled to disk.
"""

import csv
import hmac
from collections.abc import Iterator, Mapping, Sequence
from glob import glob
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.core.coding import Note, canonical_text, reader
from dalenius.core.columns import (
    Column,
    Factored,
    IntegerMap,
    code_distinct,
    code_floats,
    code_integers,
    expanded,
)
from dalenius.core.contribution import kept
from dalenius.core.domain import Domain, Variable
from dalenius.core.law import IntArray
from dalenius.core.query import Aggregate, TableQuery, ValuesQuery
from dalenius.core.sealed import Sealed
from dalenius.core.tally import Tally, passes, used_variables
from dalenius.errors import DocumentError, InternalError, RequestError, UnknownName

if TYPE_CHECKING:
    from dalenius.spec.dataset import DatasetDocument

__all__ = ["DuckDBSource"]

GROUPED_CELLS = 20_000
BATCH_ROWS = 1 << 20
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "BOOLEAN")
_NESTED = ("STRUCT", "MAP", "UNION", "[", "VARIANT", "GEOMETRY")
_PLAIN_NUMBER = r"[+-]?[0-9]+(\.[0-9]*)?"


class DuckDBSource:
    """A table that DuckDB can read, seen through a declared domain."""

    def __init__(
        self, domain: Domain, data: Any = None, secret: bytes = b"", *, table: str = "", delimiter: str = ","
    ) -> None:
        import duckdb

        self.domain = domain
        self._secret = secret
        self._files: tuple[Path, ...] = ()
        self._frame: Any = None
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET temp_directory = ''")
        self._connection.execute("SET enable_progress_bar = false")
        try:
            self._relation = self._attach(data, table, delimiter)
            described = self._connection.sql(f"DESCRIBE SELECT * FROM {self._relation}").fetchall()
        except (duckdb.Error, OSError, UnicodeDecodeError) as error:
            # The parser's own message may quote the content of the file.
            raise DocumentError(
                "The data could not be read. A CSV (with a header, in UTF-8), Parquet or DuckDB file, an Arrow table"
                f" or a data frame is accepted. Reader's complaint: {type(error).__name__}."
            ) from None
        self._types = {str(row[0]): str(row[1]) for row in described}
        self._check_columns()
        self._held: Mapping[str, IntArray] | None = None
        self._over = self._without = 0

    @classmethod
    def open(
        cls,
        document: "DatasetDocument",
        base: str | Path | None = None,
        secret: bytes = b"",
        data: Any = None,
    ) -> "DuckDBSource":
        """The source that a dataset document names, relative to `base` (by default the document's own folder)."""
        if data is None:
            folder = Path(document.base if base is None else base)
            data = folder / document.dataset.source
        dataset = document.dataset
        return cls(document.domain(), data, secret, table=dataset.table, delimiter=dataset.delimiter)

    def table(self, query: TableQuery) -> Sealed[IntArray]:
        """One exact aggregate per cell."""
        tally = Tally(query=query, domain=self.domain)
        names = used_variables(query)
        is_plain = query.aggregate is Aggregate.COUNT and query.weight is None and bool(names)
        if is_plain and query.space.size <= GROUPED_CELLS and self._may_group(names):
            for batch, counts in self._grouped(names):
                tally.add(batch, counts)
        else:
            for coded in self._batches(names):
                tally.add(coded)
        return Sealed(tally.result())

    def values(self, query: ValuesQuery) -> Sealed[IntArray]:
        """Sorted values of one numeric variable, in steps."""
        variable = self.domain.variable(query.value)
        _ = variable.bounds
        names = tuple(dict.fromkeys([query.value, *(f.variable for f in query.where)]))
        parts = []
        for batch in self._batches(names):
            codes = expanded(batch[query.value])
            mask = codes != np.iinfo(np.int64).min
            for condition in query.where:
                other = self.domain.variable(condition.variable)
                mask &= passes(condition, other, expanded(batch[condition.variable]))
            parts.append(codes[mask])
        return Sealed(np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts])))

    def scan(self, variables: Sequence[str]) -> Iterator[Mapping[str, IntArray]]:
        """Batches of coded rows."""
        for name in variables:
            self.domain.variable(name)
        for batch in self._batches(tuple(dict.fromkeys(variables))):
            yield {name: expanded(column) for name, column in batch.items()}

    def fingerprint(self, key: bytes) -> str:
        """Keyed digest of the files' bytes, or of the declared columns of a frame."""
        digest = hmac.new(key, digestmod=lambda: blake2b(digest_size=32))
        for path in self._files:
            digest.update(f"file {path.name} {path.stat().st_size}\n".encode("utf-8", "surrogateescape"))
            with path.open("rb") as stream:
                while chunk := stream.read(1 << 22):
                    digest.update(chunk)
        if self._frame is not None:
            for name in sorted(self._columns()):
                _digest_column(digest, name, self._frame.column(name))
        return digest.hexdigest()

    def judge(self) -> Mapping[str, Any]:
        """Counts of odd values, for the custodian; reads every declared column once."""
        rows = int(self._sql(f"SELECT count(*) FROM {self._relation}").fetchall()[0][0])
        variables = {name: self._notes(variable) for name, variable in self.domain.variables.items()}
        zeros = 0
        used = tuple(dict.fromkeys(name for zero in self.domain.structural_zeros for name in zero))
        kept_rows = 0
        for batch in self._batches(used):
            size = len(next(iter(batch.values()))) if used else 0
            inside = np.zeros(size, dtype=bool)
            for zero in self.domain.structural_zeros:
                matched = np.ones(size, dtype=bool)
                for name, labels in zero.items():
                    categories = self.domain.variable(name).categories
                    codes = [categories.code(label) for label in labels]
                    matched &= np.isin(expanded(batch[name]), codes)
                inside |= matched
            zeros += int(inside.sum())
            kept_rows += size
        if self._held is not None:
            kept_rows = len(next(iter(self._held.values())))
        return {
            "rows": rows,
            "rows_kept": kept_rows if self.domain.unit_id is not None else rows,
            "rows_without_unit": self._without,
            "rows_over_max": self._over,
            "rows_in_structural_zeros": zeros,
            "variables": variables,
        }

    def _attach(self, data: Any, table: str, delimiter: str) -> str:
        """Make the data known to DuckDB; returns what stands after FROM."""
        if isinstance(data, str | Path):
            found = sorted(glob(str(data))) if not Path(data).exists() else [str(data)]
            if not found:
                raise DocumentError(f"There is no data file {str(data)!r}.", received=str(data))
            self._files = tuple(Path(name) for name in found)
            suffix = self._files[0].suffix.lower()
            names = "[" + ", ".join(_text(name) for name in found) + "]"
            if suffix in (".parquet", ".pq"):
                return f"read_parquet({names})"
            if suffix in (".duckdb", ".db"):
                self._connection.execute(f"ATTACH {_text(found[0])} AS microdata (READ_ONLY)")
                return f"microdata.{_name(table or self._only_table())}"
            return self._csv(names, delimiter if suffix != ".tsv" else "\t")
        self._frame = _arrow_table(data)
        self._connection.register("microdata", self._frame)
        return "microdata"

    def _csv(self, names: str, delimiter: str) -> str:
        # Every column is text and nothing is sniffed: what a type guess reads in one row would change how all others
        # are read.
        with self._files[0].open(encoding="utf-8-sig", newline="") as stream:
            header = next(csv.reader(stream, delimiter=delimiter), [])
        if not header or len(set(header)) != len(header):
            raise DocumentError("A CSV file must begin with a header of distinct column names.")
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header)
        return (
            f"read_csv({names}, auto_detect = false, header = true, delim = {_text(delimiter)}, quote = '\"',"
            f" escape = '\"', nullstr = '', null_padding = true, ignore_errors = true, columns = {{{columns}}})"
        )

    def _only_table(self) -> str:
        rows = self._connection.sql(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'microdata'"
        )
        names = [str(row[0]) for row in rows.fetchall()]
        if len(names) != 1:
            raise DocumentError(f"Say which table of the DuckDB file is meant: {', '.join(sorted(names))}.")
        return names[0]

    def _columns(self) -> list[str]:
        names = [variable.source_column for variable in self.domain.variables.values()]
        names += [self.domain.unit_id] if self.domain.unit_id is not None else []
        return list(dict.fromkeys(names))

    def _check_columns(self) -> None:
        for name in self._columns():
            if name not in self._types:
                raise UnknownName.among("column", name, self._types)
            if any(mark in self._types[name].upper() for mark in _NESTED):
                raise DocumentError(f"The column {name!r} is nested; a declared variable needs plain values.")

    def _sql(self, statement: str) -> Any:
        import duckdb

        try:
            cursor = self._connection.cursor()
            if self._frame is not None:
                cursor.register("microdata", self._frame)
            return cursor.sql(statement)
        except duckdb.Error:
            raise InternalError("The data could not be read by the engine.") from None

    def _may_group(self, names: Sequence[str]) -> bool:
        """Whether raw values may be grouped: no person to bound, and no numeric variable with endless values."""
        return self.domain.unit_id is None and not any(self.domain.variable(n).is_numeric for n in names)

    def _grouped(self, names: Sequence[str]) -> Iterator[tuple[dict[str, Column], IntArray]]:
        columns = ", ".join(_name(self.domain.variable(name).source_column) for name in names)
        chosen = ", ".join(f"{self._expression(name)[0]} AS v{i}" for i, name in enumerate(names))
        statement = f"SELECT {chosen}, count(*) AS n FROM {self._relation} GROUP BY {columns}"
        for batch in self._stream(statement):
            coded = {name: self._code(name, batch, f"v{i}") for i, name in enumerate(names)}
            yield coded, batch.column("n").to_numpy().astype(np.int64)

    def _batches(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        """Coded rows of some variables, after the rows of each person were bounded."""
        if self.domain.unit_id is not None:
            held = self._bounded()
            yield {name: held[name] for name in names} or {"": next(iter(held.values()))}
            return
        yield from self._read(names)

    def _read(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        parts = [f"{e} AS v{i}{s}" for i, n in enumerate(names) for e, s in self._expressions(n)]
        statement = f"SELECT {', '.join(parts) or '1 AS one'} FROM {self._relation}"
        for batch in self._stream(statement):
            if not names:
                yield {"": np.zeros(batch.num_rows, dtype=np.int64)}
                continue
            yield {name: self._code(name, batch, f"v{i}") for i, name in enumerate(names)}

    def _stream(self, statement: str) -> Iterator[Any]:
        import duckdb

        try:
            yield from self._sql(statement).to_arrow_reader(BATCH_ROWS)
        except duckdb.Error:
            raise InternalError("The data could not be read by the engine.") from None

    def _expression(self, name: str) -> tuple[str, str]:
        return next(self._expressions(name))

    def _expressions(self, name: str) -> Iterator[tuple[str, str]]:
        """What is fetched for a variable; text of numbers is split in plain decimals and the rest."""
        variable = self.domain.variable(name)
        column, kind = _name(variable.source_column), self._types[variable.source_column]
        if not variable.is_numeric:
            yield (f"{column}::BIGINT" if kind in ("UTINYINT", "USMALLINT", "UINTEGER") else column), ""
        elif kind in _INTEGERS:
            yield f"{column}::BIGINT", ""
        elif kind in ("FLOAT", "DOUBLE"):
            yield f"{column}::DOUBLE", ""
        elif kind == "VARCHAR":
            # A decimal of at most 15 digits is the decimal that its double prints as.
            is_plain = f"length({column}) <= 15 AND regexp_full_match({column}, {_text(_PLAIN_NUMBER)})"
            fast = f"CASE WHEN {is_plain} THEN TRY_CAST({column} AS DOUBLE) END"
            yield fast, ""
            yield f"CASE WHEN {fast} IS NULL THEN {column} END", "_rest"
        else:
            yield column, ""

    def _code(self, name: str, batch: Any, label: str) -> Column:
        variable, array = self.domain.variable(name), batch.column(label)
        fast = self._code_fast(variable, array)
        if fast is None:
            return _dictionary(variable, array)
        if array.null_count:
            missing = code_distinct(variable, [None])[0]
            empty = array.is_null().to_numpy(zero_copy_only=False)
            codes = expanded(fast)
            codes[empty] = missing
            if f"{label}_rest" in batch.schema.names:
                rest = expanded(_dictionary(variable, batch.column(f"{label}_rest").filter(array.is_null())))
                codes[empty] = rest
            return codes
        return fast

    def _code_fast(self, variable: Variable, array: Any) -> Column | None:
        """Vectorised codes of the rows that are not NULL; None where there is no fast road."""
        import pyarrow as pa

        is_integer = pa.types.is_signed_integer(array.type)
        if not (is_integer or pa.types.is_float64(array.type)):
            return None
        numbers = array.fill_null(0).to_numpy(zero_copy_only=False) if array.null_count else array.to_numpy()
        if variable.is_numeric:
            if is_integer:
                return code_integers(variable.bounds, numbers)
            return code_floats(variable, numbers)
        found = IntegerMap.of(variable.categories) if is_integer else None
        return found.take(numbers) if found is not None else None

    def _bounded(self) -> Mapping[str, IntArray]:
        """All declared variables of the rows that count, coded; chosen once."""
        if self._held is None:
            names = tuple(self.domain.variables)
            unit = _name(str(self.domain.unit_id))
            parts = [f"{e} AS v{i}{s}" for i, n in enumerate(names) for e, s in self._expressions(n)]
            statement = f"SELECT {', '.join([*parts, f'{unit} AS unit'])} FROM {self._relation}"
            columns: dict[str, list[IntArray]] = {name: [] for name in names}
            people: dict[str, int] = {}
            owners: list[IntArray] = []
            for batch in self._stream(statement):
                for i, name in enumerate(names):
                    columns[name].append(expanded(self._code(name, batch, f"v{i}")))
                owners.append(_owners(batch.column("unit"), people))
            empty = np.empty(0, dtype=np.int64)
            whole = {name: np.concatenate([empty, *parts]) for name, parts in columns.items()}
            owner = np.concatenate([empty, *owners])
            rows = self._chosen(whole, owner, list(people))
            self._held = {name: column[rows] for name, column in whole.items()}
        return self._held

    def _chosen(self, columns: Mapping[str, IntArray], owner: IntArray, people: list[str]) -> IntArray:
        most = self.domain.neighbours.max_rows
        self._without = int((owner < 0).sum())
        sizes = np.bincount(owner[owner >= 0], minlength=len(people))
        over = np.flatnonzero(sizes > most)
        self._over = int((sizes[over] - most).sum())
        keep = owner >= 0
        if len(over):
            marked = np.zeros(len(people) + 1, dtype=bool)
            marked[over] = True
            rows = np.flatnonzero(marked[owner])
            rows = rows[np.argsort(owner[rows], kind="stable")]
            matrix = np.stack([column[rows] for column in columns.values()], axis=1).tolist()
            keep[rows] = False
            starts = np.flatnonzero(np.diff(owner[rows], prepend=-2))
            for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
                mine = zip(rows[start:stop].tolist(), matrix[start:stop], strict=True)
                keep[kept(self._secret, people[owner[rows[start]]], mine, most)] = True
        return np.flatnonzero(keep)

    def _notes(self, variable: Variable) -> dict[str, int]:
        """How many values were odd, from the distinct raw values."""
        column = _name(variable.source_column)
        statement = f"SELECT {column} AS v, count(*) AS n FROM {self._relation} GROUP BY {column}"
        read = reader(variable)
        notes = {str(note): 0 for note in Note}
        for batch in self._stream(statement):
            counts = batch.column("n").to_pylist()
            for value, count in zip(batch.column("v").to_pylist(), counts, strict=True):
                notes[str(read(value)[1])] += count
        return notes


def _dictionary(variable: Variable, array: Any) -> Factored:
    """Codes of any column: each distinct value of the batch is read once."""
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode(null_encoding="encode")
    distinct = [*array.dictionary.to_pylist(), None]
    places = array.indices.fill_null(len(distinct) - 1) if array.indices.null_count else array.indices
    return Factored(places.to_numpy(), code_distinct(variable, distinct))


def _owners(array: Any, people: dict[str, int]) -> IntArray:
    """Number of each row's person; -1 for rows without one."""
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode(null_encoding="encode")
    numbers = []
    for value in [*array.dictionary.to_pylist(), None]:
        text = canonical_text(value)
        numbers.append(-1 if text is None else people.setdefault(text, len(people)))
    places = array.indices.fill_null(len(numbers) - 1) if array.indices.null_count else array.indices
    owners: IntArray = np.asarray(numbers, dtype=np.int64)[places.to_numpy()]
    return owners


def _arrow_table(data: Any) -> Any:
    import pyarrow as pa

    try:
        if isinstance(data, pa.Table):
            return data
        if isinstance(data, Mapping):
            return pa.table({str(name): list(column) for name, column in data.items()})
        if isinstance(data, list | tuple):
            return pa.Table.from_pylist(list(data))
        if hasattr(data, "to_arrow"):
            return data.to_arrow()
        if type(data).__module__.startswith("pandas"):
            return pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError):
        raise RequestError("The columns hold mixed types; give each column one type.") from None
    raise RequestError(
        "Data must be a path, a mapping of columns, a list of rows, or a pandas, polars or Arrow table;"
        f" received {type(data).__name__}."
    )


def _digest_column(digest: Any, name: str, column: Any) -> None:
    """Feed a column's content to a digest, whatever its chunks and paddings are."""
    import pyarrow as pa

    digest.update(f"column {len(name)} {name} {column.type} {len(column)}\n".encode())
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        for value in chunk.to_pylist():
            text = canonical_text(value)
            content = b"-" if text is None else b"+" + text.encode("utf-8", "surrogateescape")
            digest.update(len(content).to_bytes(8, "little") + content)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
