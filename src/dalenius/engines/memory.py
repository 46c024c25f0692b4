"""Microdata in memory: the plain reference that every other engine must equal.

Rows are read one by one with the scalar readers of `spec.coding`, and every aggregate is a Python integer. Use it
for small data and for tests; `duckdb` takes the same data frames and is fast.
"""

import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Domain, Variable
from dalenius.core.law import IntArray
from dalenius.core.query import LIMIT, Aggregate, Clip, Labels, LabelsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.sealed import Sealed
from dalenius.engines._arrow import arrow_table, is_table
from dalenius.engines._contribution import kept
from dalenius.engines._declared import check_columns, row_report
from dalenius.engines._features import code_passes, feature_code, report_of_persons
from dalenius.engines._labels import counted_labels
from dalenius.engines._person_source import digest_of_tables
from dalenius.errors import RequestError
from dalenius.spec.coding import Remark, canonical_text, is_dropped, paired, reader

__all__ = ["MemorySource"]

Codes = dict[str, int]
Columns = Mapping[str, Sequence[object]]


class MemorySource:
    turn: ClassVar[int] = 2
    suffixes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        domain: Domain,
        columns: Columns,
        secret: bytes = b"",
        rows: int | None = None,
        others: Mapping[str, Any] | None = None,
    ) -> None:
        self.domain = domain
        self._tables: dict[str, MemorySource] = {}
        self._owners: list[str] | None = None
        if domain.has_features:
            self._take_features(columns, secret, others or {})
            return
        wanted = set(domain.source_columns)
        check_columns(sorted(wanted), columns)
        self._columns = {name: list(columns[name]) for name in columns if name in wanted}
        lengths = {len(column) for column in self._columns.values()} or {rows or 0}
        if len(lengths) > 1:
            raise RequestError("The columns of a data set must have the same length.")
        self._rows = lengths.pop()
        self._notes: dict[str, dict[str, int]] = {}
        self._over = 0
        self._secret = secret
        self._coded = self._keep(self._code(), secret)

    @classmethod
    def accepts(cls, data: object) -> bool:
        return is_table(data)

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
    ) -> "MemorySource":
        """From a mapping of columns, a list of rows (mappings), or a pandas, polars or Arrow table.

        There is no file that `table` or `delimiter` could be of.
        """
        records = (domain.table_of_records() if domain.has_features else domain).variables
        names = [name for variable in records.values() for name in variable.source_columns]
        further = {
            name: columns_of(rows, domain.table_of_records(name).source_columns)
            for name, rows in (others or {}).items()
        }
        return cls(domain, columns_of(data, names), secret, others=further)

    def _take_features(self, columns: Columns, secret: bytes, others: Mapping[str, Columns]) -> None:
        """One row for each person of the own table, made of the person's rows in every table."""
        domain, tables = self.domain, {"": columns, **others}
        for name in ("", *domain.tables):
            self._tables[name] = MemorySource(domain.table_of_records(name), tables[name], secret)
        persons = {name: table._rows_of_persons() for name, table in self._tables.items()}
        self._coded = [
            {
                name: feature_code(domain, variable, persons[variable.feature.table].get(person, ()))
                for name, variable in domain.variables.items()
                if variable.feature is not None
            }
            for person in persons[""]
        ]

    def _rows_of_persons(self) -> dict[str, list[Codes]]:
        """Every coded row of each person, whatever number of them counts elsewhere."""
        persons: dict[str, list[Codes]] = {}
        for value, row in zip(self._columns[str(self.domain.unit_id)], self._code(), strict=True):
            person = canonical_text(value)
            if person is not None:
                persons.setdefault(person, []).append(row)
        return persons

    def table(self, query: TableQuery) -> Sealed[IntArray]:
        query.largest(self.domain)
        space = query.space
        if query.aggregate is Aggregate.PERSONS:
            return self._persons_in_cells(query)
        if query.clip is not None:
            return self._clipped(query, query.clip)
        start = query.empty_cell(self.domain)
        cells = [start] * space.size
        structural = set(space.structural_indices)
        for row in self._coded:
            index = self._cell(query, row)
            if index is None or index in structural:
                continue
            share = self._share(query, row)
            if share is not None:
                cells[index] = _combine(query.aggregate, cells[index], share)
        return _answered(query, cells)

    def _persons_in_cells(self, query: TableQuery) -> Sealed[IntArray]:
        owners = range(len(self._coded)) if self._owners is None else self._owners
        places = {(self._cell(query, row), owner) for row, owner in zip(self._coded, owners, strict=True)}
        counts = [0] * query.space.size
        for index, _ in places:
            if index is not None and index not in query.space.structural_indices:
                counts[index] += 1
        return Sealed(np.array(counts, dtype=np.int64))

    def _added(self, query: TableQuery) -> list[dict[int, int]]:
        """What each person with a row in the table adds to its cells, before it is clipped."""
        owners = range(len(self._coded)) if self._owners is None else self._owners
        persons: dict[object, dict[int, int]] = {}
        for row, owner in zip(self._coded, owners, strict=True):
            index, share = self._cell(query, row), self._share(query, row)
            if index is not None and share is not None:
                added = persons.setdefault(owner, {})
                added[index] = added.get(index, 0) + share
        return list(persons.values())

    def _clipped(self, query: TableQuery, clip: Clip) -> Sealed[IntArray]:
        cells = [0] * query.space.size
        for added in self._added(query):
            size = clip.size(added.values())
            for index, steps in added.items():
                cells[index] += clip.clipped(steps, size)
        for index in query.space.structural_indices:
            cells[index] = 0
        return _answered(query, cells)

    def values(self, query: ValuesQuery) -> Sealed[IntArray]:
        variable = self.domain.variable(query.value)
        _ = variable.bounds
        passing = (row[query.value] for row in self._coded if self._passes(query.where, row))
        return Sealed(np.array(sorted(code for code in passing if not is_dropped(variable, code)), dtype=np.int64))

    def labels(self, query: LabelsQuery) -> Sealed[Labels]:
        texts = self._columns[self.domain.variable(query.variable).source_column]
        if self.domain.unit_id is None:
            counts = ((text, 1) for text in texts)
            return Sealed(counted_labels(self.domain, self._secret, query, counts=counts))
        pairs = zip(self._columns[self.domain.unit_id], texts, strict=True)
        return Sealed(counted_labels(self.domain, self._secret, query, pairs=pairs))

    def sizes(self, query: SizesQuery) -> Sealed[IntArray]:
        query.table.largest(self.domain)
        counts = [0] * (len(query.clips) + 1)
        for added in self._added(query.table):
            size = query.clips[0].size(added.values())
            counts[sum(size > clip.most for clip in query.clips)] += 1
        return Sealed(np.array(counts, dtype=np.int64))

    def scan(self, variables: Sequence[str]) -> Iterator[Mapping[str, IntArray]]:
        for name in variables:
            self.domain.variable(name)
        yield {name: np.array([row[name] for row in self._coded], dtype=np.int64) for name in variables}

    def fingerprint(self, key: bytes) -> str:
        """Keyed digest of the declared columns, value by value and in order."""
        if self._tables:
            return digest_of_tables(key, self._tables)
        digest = hmac.new(key, digestmod=lambda: blake2b(digest_size=32))
        for name in sorted(self._columns):
            digest.update(f"column {len(name)} {name} {self._rows}\n".encode())
            for value in self._columns[name]:
                text = canonical_text(value)
                content = b"-" if text is None else f"{type(value).__name__} {text}".encode("utf-8", "surrogateescape")
                digest.update(len(content).to_bytes(8, "little") + content)
        return digest.hexdigest()

    def stamp(self) -> tuple[object, ...]:
        return ()

    def judge(self) -> Mapping[str, Any]:
        zeros = sum(self._in_structural_zero(row) for row in self._coded)
        if self._tables:
            return report_of_persons({n: t.judge() for n, t in self._tables.items()}, self.domain, zeros)
        counts = {"kept": len(self._coded), "units": self._units, "without": self._without, "over": self._over}
        return row_report(self._rows, **counts, zeros=zeros, odd=self._notes)

    def _code(self) -> list[Codes]:
        rows: list[Codes] = [{} for _ in range(self._rows)]
        for name, variable in self.domain.variables.items():
            read = reader(variable)
            notes = {str(note): 0 for note in Remark}
            for row, value in zip(rows, self._values(variable), strict=True):
                row[name], note = read(value)
                notes[str(note)] += 1
            self._notes[name] = notes
        return rows

    def _values(self, variable: Variable) -> Iterable[object]:
        """What a column holds, or a key and a day in two of them."""
        columns = [self._columns[name] for name in variable.source_columns]
        return columns[0] if len(columns) == 1 else map(paired, *columns)

    def _keep(self, rows: list[Codes], secret: bytes) -> list[Codes]:
        self._without = 0
        self._units = self._rows
        if self.domain.unit_id is None:
            return rows
        persons: dict[str, list[int]] = {}
        for position, value in enumerate(self._columns[self.domain.unit_id]):
            person = canonical_text(value)
            if person is None:
                self._without += 1
            else:
                persons.setdefault(person, []).append(position)
        self._units = len(persons)
        most = self.domain.neighbours.max_rows
        chosen: list[int] = []
        owners = {p: person for person, positions in persons.items() for p in positions}
        for person, positions in persons.items():
            mine = ((p, list(rows[p].values())) for p in positions)
            chosen += kept(self.domain, secret, person, mine)
            self._over += max(0, len(positions) - most)
        self._owners = [owners[position] for position in sorted(chosen)]
        return [rows[position] for position in sorted(chosen)]

    def _cell(self, query: TableQuery, row: Codes) -> int | None:
        if not self._passes(query.where, row):
            return None
        index = 0
        for axis in query.space.axes:
            position = _position(axis, row[axis.variable])
            if position < 0:
                return None
            index = index * len(axis) + position
        return index

    def _passes(self, where: Iterable[Filter], row: Codes) -> bool:
        return all(code_passes(f, self.domain.variable(f.variable), row[f.variable]) for f in where)

    def _share(self, query: TableQuery, row: Codes) -> int | None:
        if any(is_dropped(self.domain.variable(name), row[name]) for name in query.function.variables):
            return None
        return query.function.value(row) - query.shift

    def _in_structural_zero(self, row: Codes) -> bool:
        categories = {n: self.domain.variable(n).categories for zero in self.domain.structural_zeros for n in zero}
        return any(
            all(row[name] in map(categories[name].code, labels) for name, labels in zero.items())
            for zero in self.domain.structural_zeros
        )


def _position(axis: Axis, code: int) -> int:
    if not axis.cuts:
        held = axis.codes[code] if code >= 0 else -1
        return held if held >= 0 else axis.rest
    for position, (low, high) in enumerate(pairwise(axis.cuts)):
        if low <= code < high:
            return position
    return axis.rest


def _answered(query: TableQuery, cells: list[int]) -> Sealed[IntArray]:
    """Halved, to the nearest whole number, and clamped."""
    halved = ((total + (1 << query.halvings) // 2) >> query.halvings for total in cells)
    return Sealed(np.array([max(-LIMIT, min(LIMIT, total)) for total in halved], dtype=np.int64))


def _combine(aggregate: Aggregate, cell: int, share: int) -> int:
    if aggregate is Aggregate.MINIMUM:
        return min(cell, share)
    if aggregate is Aggregate.MAXIMUM:
        return max(cell, share)
    if aggregate is Aggregate.LARGEST_ABSOLUTE:
        return max(cell, abs(share))
    return cell + share


def columns_of(data: Any, names: Sequence[str]) -> Mapping[str, Sequence[object]]:
    if isinstance(data, Mapping):
        return {str(name): list(column) for name, column in data.items()}
    if isinstance(data, list | tuple):
        if not all(isinstance(row, Mapping) for row in data):
            raise RequestError("Rows must be mappings of column name to value.")
        columns = list(dict.fromkeys([*names, *(key for row in data for key in row)]))
        return {name: [row.get(name) for row in data] for name in columns}
    table = arrow_table(data)
    return {name: table.column(name).to_pylist() for name in table.column_names}
