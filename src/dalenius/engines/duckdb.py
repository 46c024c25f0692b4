"""Microdata behind DuckDB: CSV, Parquet, DuckDB files, Arrow tables and data frames. The default engine.

DuckDB reads and, for small tables, groups raw values; each distinct raw value is then read against the
declaration by the code that defines it for every engine. Which road is taken depends on the declaration and on
column types, never on the content. Where persons have several rows, the rows that count are chosen once and kept in
memory as narrow codes. Nothing is spilled to disk.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.core.law import IntArray
from dalenius.core.query import Aggregate, Labels, LabelsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.sealed import Sealed
from dalenius.engines._arrow import as_numpy, code_array, digest_column, is_table
from dalenius.engines._clipped_tally import ClippedTally
from dalenius.engines._columns import Column, expanded
from dalenius.engines._declared import check_columns, row_report
from dalenius.engines._digest import TreeDigest
from dalenius.engines._duckdb_session import DuckDBSession
from dalenius.engines._features import RowsOfPersons
from dalenius.engines._fetched_columns import INTEGERS, FetchedColumns, is_nested, is_text
from dalenius.engines._grid_counts import GridCounts, counted_variable
from dalenius.engines._held_rows import HeldRows
from dalenius.engines._joint import MOST_COMBINATIONS
from dalenius.engines._labels import check_texts, counted_labels, label_statements
from dalenius.engines._person_source import PersonSource, split_place
from dalenius.engines._person_tally import PersonTally, tally_of_persons
from dalenius.engines._relation import TEXT_SUFFIXES, TYPED_SUFFIXES, name_of
from dalenius.engines._remark_counts import remark_counts
from dalenius.engines._tally import Tally, in_structural_zeros, is_listed
from dalenius.errors import DocumentError

__all__ = ["DuckDBSource"]

GROUPED_CELLS = 20_000


class DuckDBSource:
    turn: ClassVar[int] = 1
    suffixes: ClassVar[tuple[str, ...]] = (
        *TEXT_SUFFIXES,
        *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES),
        *TYPED_SUFFIXES,
    )

    def __init__(
        self, domain: Domain, data: Any, secret: bytes = b"", *, table: str = "", delimiter: str = ","
    ) -> None:
        self.domain = domain
        self._secret = secret
        self._session = session = DuckDBSession(data, table, delimiter)
        check_columns(self.domain.source_columns, session.types, is_nested)
        check_texts(domain, {n: is_text(kind) for n, kind in session.types.items()})
        session.keep(self.domain.source_columns)
        self._fetched = FetchedColumns.of(domain, session.relation, session.types)
        session.relation, session.types = self._fetched.relation, dict(self._fetched.types)
        self._held = HeldRows(domain, secret, self._fetched, session.stream)
        # Of the variable that was asked for last.
        self._counted_points: dict[tuple[object, ...], GridCounts] = {}

    @classmethod
    def accepts(cls, data: object) -> bool:
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
        for p in persons:
            queries[p].largest(self.domain)
        queries = [replace(q, aggregate=Aggregate.SUM) if p in persons else q for p, q in enumerate(queries)]
        tallies = [Tally(query=query, domain=self.domain) for query in queries]
        scanned = []
        for tally in tallies:
            counted = counted_variable(tally.query, self.domain)
            if counted is not None:
                self._grid_counts(counted).add_to(tally)
                continue
            names = tally.query.variables
            if not self._may_group(tally.query, names):
                scanned.append(tally)
                continue
            for batch, counts in self._grouped(names):
                tally.add(batch, counts)
        names = tuple(dict.fromkeys(name for tally in scanned for name in tally.query.variables))
        for coded in self._batches(names) if scanned else ():
            for tally in scanned:
                tally.add(coded)
        return tuple(Sealed(tally.result()) for tally in tallies)

    def sizes(self, query: SizesQuery) -> Sealed[IntArray]:
        tally = self._tallied(query.table)
        assert isinstance(tally, ClippedTally)  # A query about sizes is of a table with a clip.
        return Sealed(tally.classes(query.clips))

    def _tallied(self, query: TableQuery) -> PersonTally | ClippedTally:
        owners, start = None if self.domain.unit_id is None else self._held.owners(), 0
        tally = tally_of_persons(query, self.domain)
        for batch in self._batches(query.variables):
            size = len(next(iter(batch.values())))
            own = np.arange(start, start + size) if owners is None else owners[start : start + size]
            tally.add(batch, own)
            start += size
        return tally

    def values(self, query: ValuesQuery) -> Sealed[IntArray]:
        return self.lists((query,))[0]

    def lists(self, queries: Sequence[ValuesQuery]) -> tuple[Sealed[IntArray], ...]:
        for query in queries:
            _ = self.domain.variable(query.value).bounds
        counted = [counted_variable(query, self.domain) for query in queries]
        if all(counted):
            pairs = zip(counted, queries, strict=True)
            return tuple(Sealed(self._grid_counts(str(n)).listed(query, self.domain)) for n, query in pairs)
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
            counts = GridCounts(self.domain.variable(name), columns)
            self._counted_points = {key: counts}
        return counts

    def labels(self, query: LabelsQuery) -> Sealed[Labels]:
        if self.domain.unit_id is None:
            counts = self.contents(query.variable)
            return Sealed(counted_labels(self.domain, self._secret, query, counts=counts))
        column = self.domain.variable(query.variable).source_column
        text = name_of(column) if self._session.types[column] == "VARCHAR" else f"{name_of(column)}::VARCHAR"
        kind, unit = self._session.types[self.domain.unit_id], self._fetched.unit
        # Values of other types may be equal to a person and not to the database, or the other way round.
        is_plain = kind in INTEGERS or is_text(kind)
        within, beyond = label_statements(unit, text, self._session.relation.sql, query.most if is_plain else 0)
        counts, pairs = self._listed(within, "v", "n"), self._listed(beyond, "u", "v")
        return Sealed(counted_labels(self.domain, self._secret, query, counts=counts, pairs=pairs))

    def _listed(self, statement: str, first: str, second: str) -> Iterator[tuple[Any, Any]]:
        for batch in self._session.stream(statement):
            yield from zip(batch.column(first).to_pylist(), batch.column(second).to_pylist(), strict=True)

    def scan(self, variables: Sequence[str]) -> Iterator[Mapping[str, IntArray]]:
        for name in variables:
            self.domain.variable(name)
        for batch in self._batches(tuple(dict.fromkeys(variables))):
            yield {name: expanded(column) for name, column in batch.items()}

    def fingerprint(self, key: bytes) -> str:
        """Keyed digest of the files' bytes, or of the declared columns of a frame."""
        digest = TreeDigest(key)
        relation = self._session.relation
        for path in [*relation.files, *relation.logs()]:
            digest.add_file(path)
        if relation.frame is not None:
            for name in sorted(self.domain.source_columns):
                digest_column(digest, name, relation.frame.column(name))
        return digest.hexdigest()

    def stamp(self) -> tuple[object, ...] | None:
        """Names, places, sizes and times of the files; a table in memory is a copy of the engine's own."""
        return () if self._session.relation.frame is not None else self._session.relation.stamp()

    def changed_at(self) -> float | None:
        return None if self._session.relation.frame is not None else self._session.relation.changed_at()

    @property
    def columns(self) -> Mapping[str, str]:
        """Names of the columns that can be declared, with their types; every column of a CSV file is text."""
        return {n: kind for n, kind in self._session.types.items() if not is_nested(kind)}

    @property
    def is_text(self) -> bool:
        return self._session.relation.is_csv

    def contents(self, name: str) -> Iterator[tuple[object, int]]:
        column = name_of(self.domain.variable(name).source_column)
        statement = f"SELECT {column} AS v, count(*) AS n FROM {self._session.relation.sql} GROUP BY {column}"
        yield from self._listed(statement, "v", "n")

    def judge(self) -> Mapping[str, Any]:
        """Counts of odd values, for the custodian; reads every declared column once."""
        self._check_records()
        [(total,)] = self._session.sql(f"SELECT count(*) FROM {self._session.relation.sql}").fetchall()
        columns = [self._fetched.judged(variable) for variable in self.domain.variables.values()]
        zero_variables = tuple(dict.fromkeys(name for zero in self.domain.structural_zeros for name in zero))
        batches = self._batches(zero_variables) if zero_variables else ()
        zeros = sum(int(in_structural_zeros(self.domain, batch).sum()) for batch in batches)
        kept, units, without = total, total, 0
        if self.domain.unit_id is not None:
            kept, (units, without) = len(next(iter(self._held.columns().values()))), self._held.sizes()
        relation = self._session.relation
        records = relation.records()
        skipped = 0 if records is None else max(0, records - total)
        odd = remark_counts(columns, relation.sql, self._session.stream, is_one_pass=relation.is_csv)
        counts = {"kept": kept, "units": units, "without": without, "over": total - without - kept, "skipped": skipped}
        return row_report(total, **counts, zeros=zeros, odd=odd)

    def _check_records(self) -> None:
        """A CSV file in which one record could hide others is refused, once, at registration."""
        try:
            is_plain = self._session.relation.has_one_line_a_record()
        except csv.Error:
            raise DocumentError("A field of the CSV file is longer than can be a value.") from None
        if not is_plain:
            raise DocumentError(
                "A quoted field of the CSV file runs over a line end, or lines end in different ways. A quotation mark "
                "that is never closed would hide every row after it, so such files are refused: write the data as "
                "Parquet, or without line ends inside fields."
            )

    def rows_of_persons(self) -> RowsOfPersons:
        return self._held.all_rows()

    def _may_group(self, query: TableQuery, names: Sequence[str]) -> bool:
        """Whether raw values may be grouped: a plain count of few categories without fixed places, rows as units."""
        if not query.is_plain_count or not names or self.domain.unit_id is not None:
            return False
        variables = [self.domain.variable(name) for name in names]
        if any(variable.is_numeric for variable in variables):
            return False
        places = [self._fetched.places(variable) for variable in variables]
        if all(places) and prod(places) <= MOST_COMBINATIONS:
            return False
        return prod(len(variable.categories) for variable in variables) <= GROUPED_CELLS

    def _grouped(self, names: Sequence[str]) -> Iterator[tuple[dict[str, Column], IntArray]]:
        columns = [name_of(self.domain.variable(name).source_column) for name in names]
        chosen = ", ".join(f"{column} AS v{i}" for i, column in enumerate(columns))
        statement = f"SELECT {chosen}, count(*) AS n FROM {self._session.relation.sql} GROUP BY {', '.join(columns)}"
        for batch in self._session.stream(statement):
            read = ((name, self.domain.variable(name), batch.column(f"v{i}")) for i, name in enumerate(names))
            yield {n: code_array(v, array) for n, v, array in read}, as_numpy(batch.column("n")).astype(np.int64)

    def _batches(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        """Coded rows of some variables, after the rows of each person were bounded."""
        if self.domain.unit_id is not None:
            yield from self._held.batches(names)
            return
        for batch in self._session.stream(self._fetched.select(names, "" if names else "1 AS one")):
            yield self._fetched.code(names, batch) or {"": np.zeros(batch.num_rows, dtype=np.int64)}
