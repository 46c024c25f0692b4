"""Microdata behind DuckDB: CSV, Parquet, DuckDB files, Arrow tables and data frames. The default engine.

DuckDB reads and, for small tables, groups raw values; each distinct raw value is then read against the
declaration by the code that defines it for every engine. Which road is taken depends on the declaration and on
column types, never on the content. Where persons have several rows, the rows that count are chosen once and kept in
memory as narrow codes. Nothing is spilled to disk.
"""

import csv
import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from dalenius.core.contracts import Source
from dalenius.core.domain import Domain, Variable
from dalenius.core.law import IntArray
from dalenius.core.query import Aggregate, Labels, LabelsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.sealed import Sealed
from dalenius.engines._arrow import (
    as_numpy,
    code_array,
    code_by_dictionary,
    code_matched,
    digest_column,
    is_table,
    nulls,
    private_copy,
)
from dalenius.engines._clipped_tally import ClippedTally
from dalenius.engines._columns import Column, Factored, IntegerMap, expanded
from dalenius.engines._contribution import CountingRows, code_type, kept_rows
from dalenius.engines._declared import check_columns, check_pair
from dalenius.engines._digest import TreeDigest
from dalenius.engines._features import RowsOfPersons
from dalenius.engines._grid_counts import GridCounts, counted_variable
from dalenius.engines._joint import MOST_COMBINATIONS
from dalenius.engines._labels import check_texts, counted_labels, label_statements
from dalenius.engines._people import ROWS_AT_ONCE, people_of
from dalenius.engines._person_source import PersonSource, split_place
from dalenius.engines._person_tally import PersonTally, tally_of_persons
from dalenius.engines._relation import TEXT_SUFFIXES, TYPED_SUFFIXES, attach, name_of, text
from dalenius.engines._remark_counts import JudgedColumn, may_be_compared, remark_counts
from dalenius.engines._tally import Tally, in_structural_zeros, is_listed, used_variables
from dalenius.engines._threads import threads
from dalenius.errors import DocumentError, InternalError
from dalenius.spec.coding import DROPPED_CATEGORY

__all__ = ["DuckDBSource"]

GROUPED_CELLS = 20_000
BATCH_ROWS = 1 << 20
_MATCHED_TEXTS = 200
_STRETCH = 1 << 13
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "BOOLEAN")
_COMMON = (*_INTEGERS, "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "ENUM")
_NESTED = ("STRUCT", "MAP", "UNION", "[", "VARIANT", "GEOMETRY")
_PLAIN_NUMBER = r"[+-]?[0-9]+(\.[0-9]*)?"


# Statistics in a file are its content: a plan that follows them tells of it by its time, and wrong ones make wrong
# counts.
_WITHOUT_STATISTICS = "statistics_propagation,compressed_materialization,filter_pushdown,join_filter_pushdown"

_OPEN: "WeakSet[DuckDBSource]" = WeakSet()


def _let_go_of_all() -> None:
    for source in list(_OPEN):
        source._let_go()


os.register_at_fork(after_in_child=_let_go_of_all)


class DuckDBSource:
    """A table that DuckDB can read, seen through a declared domain."""

    turn: ClassVar[int] = 1
    suffixes: ClassVar[tuple[str, ...]] = (
        *TEXT_SUFFIXES,
        *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES),
        *TYPED_SUFFIXES,
    )

    def __init__(
        self, domain: Domain, data: Any, secret: bytes = b"", *, table: str = "", delimiter: str = ","
    ) -> None:
        import duckdb

        self.domain = domain
        self._secret = secret
        self._connection: Any = duckdb.connect(":memory:")
        _OPEN.add(self)
        _configure(self._connection)
        try:
            self._relation = attach(self._connection, data, table, delimiter)
            described = self._connection.sql(f"DESCRIBE SELECT * FROM {self._relation.sql}").fetchall()
        except (duckdb.Error, OSError, UnicodeDecodeError, csv.Error) as error:
            # The parser's own message may quote the content of the file.
            raise DocumentError(
                "The data could not be read. A CSV (with a header, in UTF-8), Parquet or DuckDB file, an Arrow"
                f" table or a data frame is accepted. Reader's complaint: {type(error).__name__}."
            ) from None
        self._types = {str(row[0]): str(row[1]) for row in described}
        self._check_columns()
        self._relation.check_chunks(self._connection, self._columns())
        check_texts(domain, {n: _is_text(kind) for n, kind in self._types.items()})
        self._keep_own_copy()
        self._read_rare_types_as_text()
        self._pair_keys_with_days()
        self._held: Mapping[str, NDArray[Any]] | None = None
        self._owners: NDArray[Any] | None = None
        self._has_owners = False
        self._counted: tuple[int, int] | None = None
        # Of the variable that was asked for last.
        self._counted_points: dict[tuple[object, ...], GridCounts] = {}

    @classmethod
    def accepts(cls, data: object) -> bool:
        """Any file, and any table in memory that Arrow can hold."""
        return isinstance(data, str | Path) or is_table(data)

    @classmethod
    def open(
        cls,
        domain: Domain,
        data: Any,
        secret: bytes = b"",
        *,
        table: str = "",
        delimiter: str = ",",
        others: Mapping[str, Any] | None = None,
    ) -> Source:
        """The data, seen through a declared domain; with features, persons made of their rows."""
        if not domain.has_features:
            return cls(domain, data, secret, table=table, delimiter=delimiter)
        own = cls(domain.table_of_records(), data, secret, table=table, delimiter=delimiter)
        tables = {"": own}
        for name in domain.tables:
            place, inside = split_place((others or {})[name])
            tables[name] = cls(domain.table_of_records(name), place, secret, table=inside, delimiter=delimiter)
        return PersonSource(domain, tables, lambda persons, columns: cls(persons, columns, secret))

    def table(self, query: TableQuery) -> Sealed[IntArray]:
        return self.tables([query])[0]

    def tables(self, queries: Sequence[TableQuery]) -> tuple[Sealed[IntArray], ...]:
        """One exact aggregate per cell of each; what is not grouped by the database is tallied in one scan."""
        has_units = self.domain.unit_id is not None
        persons = [p for p, query in enumerate(queries) if query.aggregate is Aggregate.PERSONS]
        apart = [p for p, q in enumerate(queries) if q.clip is not None or (has_units and p in persons)]
        if apart:
            rest = iter(self.tables([q for p, q in enumerate(queries) if p not in apart]))
            return tuple(Sealed(self._tallied(q).result()) if p in apart else next(rest) for p, q in enumerate(queries))
        # Where rows are units, each of them is a person.
        queries = [replace(q, aggregate=Aggregate.COUNT) if p in persons else q for p, q in enumerate(queries)]
        tallies = [Tally(query=query, domain=self.domain) for query in queries]
        scanned = []
        for tally in tallies:
            counted = counted_variable(tally.query, self.domain)
            if counted is not None:
                self._grid_counts(counted).add_to(tally)
                continue
            names = used_variables(tally.query)
            if not self._may_group(tally.query, names):
                scanned.append(tally)
                continue
            for batch, counts in self._grouped(names):
                tally.add(batch, counts)
        names = tuple(dict.fromkeys(name for tally in scanned for name in used_variables(tally.query)))
        for coded in self._batches(names) if scanned else ():
            for tally in scanned:
                tally.add(coded)
        return tuple(Sealed(tally.result()) for tally in tallies)

    def sizes(self, query: SizesQuery) -> Sealed[IntArray]:
        tally = self._tallied(query.table)
        assert isinstance(tally, ClippedTally)  # A query about sizes is of a table with a clip.
        return Sealed(tally.classes(query.clips))

    def _tallied(self, query: TableQuery) -> PersonTally | ClippedTally:
        """Different persons among the rows that count, or what each of them adds to the cells."""
        if self._owners is None and self.domain.unit_id is not None:
            self._held, self._has_owners = None, True
            self._bounded()
        owners, start = self._owners, 0
        tally = tally_of_persons(query, self.domain)
        for batch in self._batches(used_variables(query)):
            size = len(next(iter(batch.values())))
            own = np.arange(start, start + size) if owners is None else owners[start : start + size]
            tally.add(batch, own)
            start += size
        return tally

    def values(self, query: ValuesQuery) -> Sealed[IntArray]:
        return self.lists((query,))[0]

    def lists(self, queries: Sequence[ValuesQuery]) -> tuple[Sealed[IntArray], ...]:
        """Sorted values for each of several queries, read in one pass."""
        for query in queries:
            _ = self.domain.variable(query.value).bounds
        counted = [counted_variable(query, self.domain) for query in queries]
        if all(counted):
            return tuple(
                Sealed(self._grid_counts(str(name)).listed(query, self.domain))
                for name, query in zip(counted, queries, strict=True)
            )
        read = (name for query in queries for name in (query.value, *(f.variable for f in query.where)))
        parts: list[list[IntArray]] = [[np.empty(0, dtype=np.int64)] for _ in queries]
        for batch in self._batches(tuple(dict.fromkeys(read))):
            coded = {name: expanded(column) for name, column in batch.items()}
            for pieces, query in zip(parts, queries, strict=True):
                pieces.append(coded[query.value][is_listed(query, self.domain, coded)])
        return tuple(Sealed(np.sort(np.concatenate(pieces))) for pieces in parts)

    def _grid_counts(self, name: str) -> GridCounts:
        """Rows by grid point of a variable; counted once, as long as the files stay what they were."""
        stamp = self.stamp()
        key = (name, stamp)
        counts = None if stamp is None else self._counted_points.get(key)
        if counts is None:
            columns = (expanded(batch[name]) for batch in self._batches((name,)))
            counts = GridCounts.of(self.domain.variable(name), columns)
            self._counted_points = {key: counts}
        return counts

    def labels(self, query: LabelsQuery) -> Sealed[Labels]:
        if self.domain.unit_id is None:
            counts = self.contents(query.variable)
            return Sealed(counted_labels(self.domain, self._secret, query, counts=counts))
        column = self.domain.variable(query.variable).source_column
        text = name_of(column) if self._types[column] == "VARCHAR" else f"{name_of(column)}::VARCHAR"
        kind, unit = self._types[self.domain.unit_id], self._unit_expression()
        # Values of other types may be equal to a person and not to the database, or the other way round.
        is_plain = kind in _INTEGERS or _is_text(kind)
        within, beyond = label_statements(unit, text, self._relation.sql, query.most if is_plain else 0)
        return Sealed(
            counted_labels(
                self.domain,
                self._secret,
                query,
                counts=self._listed(within, "v", "n"),
                pairs=self._listed(beyond, "u", "v"),
            )
        )

    def _listed(self, statement: str, first: str, second: str) -> Iterator[tuple[Any, Any]]:
        for batch in self._stream(statement):
            yield from zip(batch.column(first).to_pylist(), batch.column(second).to_pylist(), strict=True)

    def scan(self, variables: Sequence[str]) -> Iterator[Mapping[str, IntArray]]:
        for name in variables:
            self.domain.variable(name)
        for batch in self._batches(tuple(dict.fromkeys(variables))):
            yield {name: expanded(column) for name, column in batch.items()}

    def fingerprint(self, key: bytes) -> str:
        """Keyed digest of the files' bytes, or of the declared columns of a frame."""
        digest = TreeDigest(key)
        logs = [Path(f"{path}.wal") for path in self._relation.files]
        for path in [*self._relation.files, *(log for log in logs if log.exists())]:
            digest.add_file(path)
        if self._relation.frame is not None:
            for name in sorted(self._columns()):
                digest_column(digest, name, self._relation.frame.column(name))
        return digest.hexdigest()

    def stamp(self) -> tuple[object, ...] | None:
        """Names, places, sizes and times of the files; a table in memory is a copy of the engine's own."""
        return () if self._relation.frame is not None else self._relation.stamp()

    def changed_at(self) -> float | None:
        """When a file was last changed, by its own times; None for a table in memory."""
        return None if self._relation.frame is not None else self._relation.changed_at()

    @property
    def columns(self) -> Mapping[str, str]:
        """Names of the columns that can be declared, with their types; every column of a CSV file is text."""
        return {n: kind for n, kind in self._types.items() if not _is_nested(kind)}

    @property
    def is_text(self) -> bool:
        return self._relation.is_csv

    def contents(self, name: str) -> Iterator[tuple[object, int]]:
        """Distinct raw values of a variable as this engine reads them, with their counts; for the custodian alone."""
        column = name_of(self.domain.variable(name).source_column)
        statement = f"SELECT {column} AS v, count(*) AS n FROM {self._relation.sql} GROUP BY {column}"
        yield from self._listed(statement, "v", "n")

    def judge(self) -> Mapping[str, Any]:
        """Counts of odd values, for the custodian; reads every declared column once."""
        self._check_records()
        [(total,)] = self._sql(f"SELECT count(*) FROM {self._relation.sql}").fetchall()
        columns = [self._judged(variable) for variable in self.domain.variables.values()]
        zero_variables = tuple(dict.fromkeys(name for zero in self.domain.structural_zeros for name in zero))
        batches = self._batches(zero_variables) if zero_variables else ()
        zeros = sum(int(in_structural_zeros(self.domain, batch).sum()) for batch in batches)
        kept, units, without = total, total, 0
        if self.domain.unit_id is not None:
            kept, (units, without) = len(next(iter(self._bounded().values()))), self._sizes()
        records = self._relation.records()
        return {
            "rows": total,
            "rows_skipped": 0 if records is None else max(0, records - total),
            "rows_kept": kept,
            "units": units,
            "rows_without_unit": without,
            "rows_over_max": total - without - kept,
            "rows_in_structural_zeros": zeros,
            "variables": remark_counts(columns, self._relation.sql, self._stream, is_one_pass=self._relation.is_csv),
        }

    def _check_records(self) -> None:
        """A CSV file in which one record could hide others is refused, once, at registration."""
        try:
            is_plain = self._relation.has_one_line_a_record()
        except csv.Error:
            raise DocumentError("A field of the CSV file is longer than can be a value.") from None
        if not is_plain:
            raise DocumentError(
                "A quoted field of the CSV file runs over a line end, or lines end in different ways. A quotation mark "
                "that is never closed would hide every row after it, so such files are refused: write the data as "
                "Parquet, or without line ends inside fields."
            )

    def _columns(self) -> list[str]:
        return list(self.domain.source_columns)

    def _check_columns(self) -> None:
        check_columns(self._columns(), self._types)
        for name in self._columns():
            if _is_nested(self._types[name]):
                raise DocumentError(f"The column {name!r} is nested; a declared variable needs plain values.")

    def _keep_own_copy(self) -> None:
        """Of a table in memory: what was digested is what is counted, whatever the caller does to theirs."""
        frame, names = self._relation.frame, self._columns()
        if frame is not None:
            own = private_copy(frame.select(names) if names else frame)
            self._connection.register("microdata", own)
            self._relation = replace(self._relation, frame=own)

    def _read_rare_types_as_text(self) -> None:
        """Dates, very wide integers and the like: some of their values have no counterpart outside the database."""
        rare = [n for n in self._columns() if not self._types[n].upper().startswith(_COMMON)]
        if not rare:
            return
        casts = ", ".join(f"CAST({name_of(n)} AS VARCHAR) AS {name_of(n)}" for n in rare)
        sql = f"(SELECT * REPLACE ({casts}) FROM {self._relation.sql})"
        self._relation = replace(self._relation, sql=sql)
        self._types |= dict.fromkeys(rare, "VARCHAR")

    def _pair_keys_with_days(self) -> None:
        """A key that is looked up as of a day: both as one text."""
        pairs = {v.source_column: v for v in self.domain.variables.values() if len(v.source_columns) > 1}
        if not pairs:
            return
        for variable in pairs.values():
            check_pair(
                variable,
                {n: self._types[n] in _INTEGERS or self._types[n] == "VARCHAR" for n in variable.source_columns},
            )
        texts = ", ".join(
            " || chr(31) || ".join(f"{name_of(n)}::VARCHAR" for n in v.source_columns) + f" AS {name_of(column)}"
            for column, v in pairs.items()
        )
        self._relation = replace(self._relation, sql=f"(SELECT *, {texts} FROM {self._relation.sql})")
        self._types |= dict.fromkeys(pairs, "VARCHAR")

    def rows_of_persons(self) -> RowsOfPersons:
        """All rows as narrow codes, with the person of each; for features, which are taken of every row."""
        kinds = {name: code_type(variable) for name, variable in self.domain.variables.items()}
        parts: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, dtype=kind)] for name, kind in kinds.items()}
        units = []
        for coded, unit in self._batches_of_persons():
            for name, column in coded.items():
                parts[name].append(_narrow(column, kinds[name]))
            units.append(unit)
        columns = {name: np.concatenate(parts.pop(name)) for name in kinds}
        return RowsOfPersons(columns, people_of(units))

    def _batches_of_persons(self) -> Iterator[tuple[dict[str, Column], Any]]:
        """Codes of every declared variable, and the column of persons."""
        names = tuple(self.domain.variables)
        for batch in self._stream(self._select(names, f"{self._unit_expression()} AS unit")):
            yield self._code(names, batch), batch.column("unit")

    def _sql(self, statement: str) -> Any:
        import duckdb

        if self._connection is None:
            raise InternalError("Data are not shared with a forked process; open them there again.")
        try:
            cursor = self._connection.cursor()
            if self._relation.frame is not None:
                cursor.register("microdata", self._relation.frame)
            return cursor.sql(statement)
        except duckdb.Error:
            raise InternalError("The data could not be read by the engine.") from None

    def _stream(self, statement: str) -> Iterator[Any]:
        import duckdb
        import pyarrow as pa

        try:
            yield from self._sql(statement).to_arrow_reader(BATCH_ROWS)
        except (duckdb.Error, pa.ArrowException):
            raise InternalError("The data could not be read by the engine.") from None

    def _let_go(self) -> None:
        """After a fork: the threads of the database stayed with the parent, and freeing it here would crash."""
        if self._connection is not None:
            # One reference that nobody holds: the child never frees it, not even at its end.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection = None

    def _may_group(self, query: TableQuery, names: Sequence[str]) -> bool:
        """Whether raw values may be grouped: a plain count of few categories without fixed places, rows as units."""
        is_plain = query.aggregate is Aggregate.COUNT and query.weight is None and query.value is None
        if not is_plain or not names or self.domain.unit_id is not None:
            return False
        variables = [self.domain.variable(name) for name in names]
        if any(variable.is_numeric for variable in variables):
            return False
        places = [self._places(variable) for variable in variables]
        if all(places) and prod(places) <= MOST_COMBINATIONS:
            return False
        return prod(len(variable.categories) for variable in variables) <= GROUPED_CELLS

    def _places(self, variable: Variable) -> int:
        """How many places there are for the values of a column that is fetched as such; 0 for any other."""
        kind = self._types[variable.source_column]
        if kind in _INTEGERS and kind != "BOOLEAN":
            integers = IntegerMap.of(variable.categories)
            return 0 if integers is None else len(integers.codes)
        texts = len(variable.categories.texts)
        # The statement names every text, and more than a few hundred are longer to read than groups to fetch.
        is_matched = kind == "VARCHAR" and not self._relation.is_csv and _is_matchable(variable)
        return texts + 2 if is_matched and texts <= _MATCHED_TEXTS else 0

    def _is_small(self, variable: Variable) -> bool:
        categories, kind = variable.categories, self._types[variable.source_column]
        integers = IntegerMap.of(categories) if kind != "BOOLEAN" else None
        return integers is not None and integers.is_small and categories.missing == categories.unseen

    def _grouped(self, names: Sequence[str]) -> Iterator[tuple[dict[str, Column], IntArray]]:
        columns = [name_of(self.domain.variable(name).source_column) for name in names]
        chosen = ", ".join(f"{column} AS v{i}" for i, column in enumerate(columns))
        statement = f"SELECT {chosen}, count(*) AS n FROM {self._relation.sql} GROUP BY {', '.join(columns)}"
        for batch in self._stream(statement):
            coded: dict[str, Column] = {
                name: code_array(self.domain.variable(name), batch.column(f"v{i}")) for i, name in enumerate(names)
            }
            yield coded, as_numpy(batch.column("n")).astype(np.int64)

    def _batches(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        """Coded rows of some variables, after the rows of each person were bounded."""
        if self.domain.unit_id is not None:
            yield from self._held_batches(names)
            return
        for batch in self._stream(self._select(names, "" if names else "1 AS one")):
            yield self._code(names, batch) or {"": np.zeros(batch.num_rows, dtype=np.int64)}

    def _select(self, names: Sequence[str], further: str) -> str:
        parts = [f"{e} AS v{i}{s}" for i, n in enumerate(names) for e, s in self._expressions(n)]
        return f"SELECT {', '.join([*parts, *([further] if further else [])])} FROM {self._relation.sql}"

    def _code(self, names: Sequence[str], batch: Any) -> dict[str, Column]:
        return {name: self._code_one(name, batch, f"v{i}") for i, name in enumerate(names)}

    def _expressions(self, name: str) -> Iterator[tuple[str, str]]:
        """What is fetched for a variable, with the suffix under which it is fetched."""
        variable = self.domain.variable(name)
        column, kind = name_of(variable.source_column), self._types[variable.source_column]
        if variable.lookup is not None or variable.is_date:
            yield column, ""
        elif not variable.is_numeric:
            # DuckDB moves a cast into the CSV reader, which then skips rows whose text does not fit: not for CSV.
            if kind == "VARCHAR" and not self._relation.is_csv and _is_matchable(variable):
                texts = ", ".join(text(t) for t in variable.categories.texts)
                yield f"TRY_CAST({column} AS ENUM({texts}))", "_matched"
                if variable.categories.missing != variable.categories.unseen:
                    yield f"{column} IS NULL", "_missing"
            elif kind in _INTEGERS and self._is_small(variable):
                # A number that 16 bits do not hold is as little declared as a missing one, and both follow one rule.
                yield f"TRY_CAST({column} AS SMALLINT)", ""
            else:
                yield (f"{column}::BIGINT" if kind in ("UTINYINT", "USMALLINT", "UINTEGER") else column), ""
        elif kind in _INTEGERS:
            yield f"{column}::BIGINT", ""
        elif kind in ("FLOAT", "DOUBLE"):
            yield f"{column}::DOUBLE", ""
        elif kind == "VARCHAR":
            # A decimal of at most 15 digits is the decimal that its double prints as; the rest is read as text.
            is_plain = f"length({column}) <= 15 AND regexp_full_match({column}, {text(_PLAIN_NUMBER)})"
            fast = f"CASE WHEN {is_plain} THEN TRY_CAST({column} AS DOUBLE) END"
            yield fast, ""
            yield f"CASE WHEN {fast} IS NULL THEN {column} END", "_rest"
        else:
            yield column, ""

    def _code_one(self, name: str, batch: Any, label: str) -> Column:
        variable, fetched = self.domain.variable(name), batch.schema.names
        if f"{label}_matched" in fetched:
            missing = batch.column(f"{label}_missing") if f"{label}_missing" in fetched else None
            return code_matched(variable, batch.column(f"{label}_matched"), missing)
        array = batch.column(label)
        codes = code_array(variable, array)
        if f"{label}_rest" in fetched and array.null_count:
            codes = expanded(codes)
            rest = batch.column(f"{label}_rest").filter(array.is_null())
            codes[nulls(array)] = code_by_dictionary(variable, rest).expand()
        return codes

    def _held_batches(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        """The rows that count, from memory; categories are places in the list of all codes."""
        held = self._bounded()
        rows = len(next(iter(held.values())))
        for start in range(0, rows, BATCH_ROWS):
            batch: dict[str, Column] = {}
            for name in names:
                part, variable = held[name][start : start + BATCH_ROWS], self.domain.variable(name)
                batch[name] = part
                if not variable.is_numeric:
                    codes = np.append(np.arange(len(variable.categories), dtype=np.int64), DROPPED_CATEGORY)
                    batch[name] = Factored(part, codes, is_declared=True)
            yield batch or {"": np.zeros(min(BATCH_ROWS, rows - start), dtype=np.int64)}

    def _bounded(self) -> Mapping[str, NDArray[Any]]:
        """All declared variables of the rows that count, narrow: numbers, or places of categories; chosen once."""
        if self._held is None and self._has_numbered_persons:
            self._held = self._bounded_by_chunks()
        if self._held is None:
            rows = self.rows_of_persons()
            keep = kept_rows(self.domain, self._secret, rows.columns, rows.people)
            columns = dict(rows.columns)
            self._owners = _those(rows.people.numbers, keep) if self._has_owners else None
            del rows
            self._held = {n: _as_places(v, _those(columns.pop(n), keep)) for n, v in self.domain.variables.items()}
        return self._held

    @property
    def _has_numbered_persons(self) -> bool:
        """Whether persons have numbers by themselves, so that no column of them need be held."""
        kind = self._types[str(self.domain.unit_id)]
        return kind in _INTEGERS and kind != "BOOLEAN"

    def _bounded_by_chunks(self) -> dict[str, NDArray[Any]] | None:
        """The same while rows are read, where the codes of a row fit into one word; None where they do not."""
        rows, variables = CountingRows(self.domain, self._secret), self.domain.variables
        if not rows.is_packed:
            return None
        for coded, unit in self._batches_of_persons():
            people = people_of([unit])
            rows.add(people.numbers, tuple(coded.values()), people.present, has_order=False)
        columns, self._owners = rows.kept(self._has_owners)
        self._counted = rows.sizes
        return {n: _as_places(v, c) for (n, v), c in zip(variables.items(), columns, strict=True)}

    def _sizes(self) -> tuple[int, int]:
        """How many persons there are, and how many rows without one."""
        if self._counted is not None:
            return self._counted
        statement = f"SELECT {self._unit_expression()} AS unit FROM {self._relation.sql}"
        people = people_of([batch.column("unit") for batch in self._stream(statement)])
        return people.count(), people.rows_without

    def _unit_expression(self) -> str:
        """The column that names persons: whole numbers as one type, listed texts as plain text."""
        column, kind = name_of(str(self.domain.unit_id)), self._types[str(self.domain.unit_id)]
        if kind in _INTEGERS and kind != "BOOLEAN":
            return f"{column}::BIGINT"
        return f"{column}::VARCHAR" if kind.startswith("ENUM") else column

    def _judged(self, variable: Variable) -> JudgedColumn:
        """What the database may judge of a column by itself, and what is left."""
        column, kind = name_of(variable.source_column), self._types[variable.source_column]
        if not may_be_compared(variable) or variable.lookup is not None or variable.is_date:
            return JudgedColumn(variable=variable, rest=column)
        if kind in _INTEGERS:
            return JudgedColumn(variable=variable, number=f"{column}::BIGINT")
        if kind in ("FLOAT", "DOUBLE"):
            return JudgedColumn(variable=variable, number=f"{column}::DOUBLE", is_float=True)
        if kind != "VARCHAR":
            return JudgedColumn(variable=variable, rest=column)
        (fast, _), (rest, _) = self._expressions(variable.name)
        return JudgedColumn(variable=variable, number=fast, is_float=True, rest=rest)


def _configure(connection: Any) -> None:
    """Set what protects, or raise; then switch progress bars off where the host lets them be set."""
    import duckdb

    connection.execute(f"SET temp_directory = ''; SET threads = {threads()}")
    connection.execute(f"SET disabled_optimizers = '{_WITHOUT_STATISTICS}'")
    # A notebook without ipywidgets has no progress bar, and DuckDB refuses to set one there.
    with suppress(duckdb.Error):
        connection.execute("SET enable_progress_bar = false")


def _narrow(column: Column, kind: "np.dtype[Any]") -> NDArray[Any]:
    """Codes in the type in which they are held."""
    if not isinstance(column, Factored):
        return column.astype(kind, copy=False)
    codes = column.codes.astype(kind)
    narrow = np.empty(len(column.places), dtype=kind)
    # A stretch at a time: places are widened before they are looked up, and those of a whole batch would not stay in
    # the cache.
    for start in range(0, len(narrow), _STRETCH):
        part = slice(start, start + _STRETCH)
        np.take(codes, column.places[part], out=narrow[part], mode="wrap")
    return narrow


def _those(column: NDArray[Any], keep: NDArray[np.bool_]) -> NDArray[Any]:
    """The rows to keep, a stretch at a time: places of a whole column would not stay in the cache."""
    rows = np.empty(np.count_nonzero(keep), dtype=column.dtype)
    end = 0
    for start in range(0, len(column), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        places = np.flatnonzero(keep[part])
        np.take(column[part], places, out=rows[end : end + len(places)], mode="clip")
        end += len(places)
    return rows


def _as_places(variable: Variable, codes: NDArray[Any]) -> NDArray[Any]:
    """Narrow codes of categories as places in the list of them, in place: dropped rows have the last; numbers stay."""
    if variable.is_numeric:
        return codes
    places: NDArray[Any] = codes.view(f"u{codes.dtype.itemsize}")
    np.minimum(places, places.dtype.type(len(variable.categories)), out=places)
    return places


def _is_nested(kind: str) -> bool:
    return any(mark in kind.upper().split("(")[0] for mark in _NESTED)


def _is_text(kind: str) -> bool:
    return kind == "VARCHAR" or kind.startswith("ENUM")


def _is_matchable(variable: Variable) -> bool:
    """Whether the database may match the declared texts itself."""
    return not any("\0" in t or not t.isprintable() for t in variable.categories.texts)
