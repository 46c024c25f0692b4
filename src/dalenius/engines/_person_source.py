"""Persons made of their rows in this process: tables are read once as codes, a table of persons answers."""

import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from dalenius.core.contracts import ConnectedSource, ListingSource, OneScanSource, Source, StampedSource
from dalenius.core.domain import Domain
from dalenius.core.law import IntArray
from dalenius.core.query import Labels, LabelsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.sealed import Sealed
from dalenius.engines._arrow import as_arrow
from dalenius.engines._contribution import code_type
from dalenius.engines._features import RowsOfPersons, person_columns, report_of_persons
from dalenius.spec.coding import dropped_code


class TableOfRows(Source, StampedSource, OneScanSource, ListingSource, Protocol):
    """A source that gives all of its rows as codes, with the person of each."""

    def rows_of_persons(self) -> RowsOfPersons:
        """All rows."""


Opening = Callable[[Domain, Any], TableOfRows]


class PersonSource:
    def __init__(self, domain: Domain, tables: Mapping[str, TableOfRows], opening: Opening) -> None:
        self.domain = domain
        self._tables, self._opening = tables, opening
        self._held: TableOfRows | None = None
        self._digest: tuple[object, ...] | None = None

    @property
    def _persons(self) -> TableOfRows:
        stamp = self.stamp()
        if self._held is None or stamp != self._digest:
            import pyarrow as pa

            rows = {name: table.rows_of_persons() for name, table in self._tables.items()}
            columns = person_columns(self.domain, rows)
            variables = self.domain.variables
            narrow = {
                name: as_arrow(codes.astype(code_type(variables[name])), codes != dropped_code(variables[name]))
                for name, codes in columns.items()
            }
            persons = self.domain.table_of_persons()
            self._held, self._digest = self._opening(persons, pa.table(narrow)), stamp
        return self._held

    def table(self, query: TableQuery) -> Sealed[IntArray]:
        return self.tables((query,))[0]

    def tables(self, queries: Sequence[TableQuery]) -> tuple[Sealed[IntArray], ...]:
        return self._persons.tables(queries)

    def values(self, query: ValuesQuery) -> Sealed[IntArray]:
        return self.lists((query,))[0]

    def lists(self, queries: Sequence[ValuesQuery]) -> tuple[Sealed[IntArray], ...]:
        return self._persons.lists(queries)

    def labels(self, query: LabelsQuery) -> Sealed[Labels]:
        return self._persons.labels(query)

    def sizes(self, query: SizesQuery) -> Sealed[IntArray]:
        return self._persons.sizes(query)

    def scan(self, variables: Sequence[str]) -> Iterator[Mapping[str, IntArray]]:
        yield from self._persons.scan(variables)

    def judge(self) -> Mapping[str, Any]:
        reports = {name: table.judge() for name, table in self._tables.items()}
        zeros = self._persons.judge()["rows_in_structural_zeros"]
        return report_of_persons(reports, self.domain, zeros)

    def fingerprint(self, key: bytes) -> str:
        return digest_of_tables(key, self._tables)

    def stamp(self) -> tuple[object, ...] | None:
        stamps = [table.stamp() for table in self._tables.values()]
        return None if None in stamps else tuple(stamps)

    def close(self) -> None:
        self._held = None
        for table in self._tables.values():
            if isinstance(table, ConnectedSource):
                table.close()


def digest_of_tables(key: bytes, tables: Mapping[str, Source]) -> str:
    digest = hmac.new(key, digestmod=lambda: blake2b(digest_size=32))
    for name, table in tables.items():
        digest.update(f"table {len(name)} {name} {table.fingerprint(key)}\n".encode())
    return digest.hexdigest()


def split_place(place: Any) -> tuple[Any, str]:
    """Where a further table lies, and its name inside a file of several."""
    if isinstance(place, tuple) and len(place) == 2 and isinstance(place[0], str | Path):
        return place[0], str(place[1])
    return place, ""
