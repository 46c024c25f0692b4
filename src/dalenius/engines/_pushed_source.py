"""What sources share whose database groups and sums: questions go to a `Pushdown`, rows are hashed where they lie."""

import hmac
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Self

from dalenius.core.domain import Domain
from dalenius.core.law import IntArray
from dalenius.core.query import Labels, LabelsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.sealed import Sealed
from dalenius.engines._declared import check_columns
from dalenius.engines._labels import check_texts
from dalenius.engines._number_sql import Dialect
from dalenius.engines._person_pushdown import TableOfRecords, pushdown_of
from dalenius.engines._pushdown import Pushdown, Run


class PushedSource(ABC):
    turn: ClassVar[int] = 0
    suffixes: ClassVar[tuple[str, ...]] = ()
    schemes: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        domain: Domain,
        address: str,
        secret: bytes = b"",
        *,
        table: str = "",
        others: Mapping[str, Any] | None = None,
    ) -> None:
        self.domain = domain
        self._tables, dialect, run, stream = self._connect(address, table, others or {})
        for name, own in self._tables.items():
            check_columns(self._columns(name), own.kinds, dialect.is_nested)
        check_texts(domain, {name: kind in dialect.texts for name, kind in self._tables[""].kinds.items()})
        self._pushed = pushdown_of(domain, self._tables, secret=secret, dialect=dialect, run=run, stream=stream)

    @abstractmethod
    def _connect(
        self, address: str, table: str, others: Mapping[str, Any]
    ) -> tuple[Mapping[str, TableOfRecords], Dialect, Run, Run]:
        """Open the own table and the further ones, and say how they are asked: at once, and in batches of rows."""

    @classmethod
    def accepts(cls, data: object) -> bool:
        return isinstance(data, str) and data.partition("://")[0].lower() in cls.schemes

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
    ) -> Self:
        return cls(domain, data, secret, table=table, others=others)

    def _current(self) -> Pushdown:
        return self._pushed

    def table(self, query: TableQuery) -> Sealed[IntArray]:
        return Sealed(self._current().table(query))

    def values(self, query: ValuesQuery) -> Sealed[IntArray]:
        return Sealed(self._current().values(query))

    def labels(self, query: LabelsQuery) -> Sealed[Labels]:
        return Sealed(self._current().labels(query))

    def sizes(self, query: SizesQuery) -> Sealed[IntArray]:
        return Sealed(self._current().sizes(query))

    def scan(self, variables: Sequence[str]) -> Iterator[Mapping[str, IntArray]]:
        for name in variables:
            self.domain.variable(name)
        yield from self._current().scan(tuple(dict.fromkeys(variables)))

    def judge(self) -> Mapping[str, Any]:
        return self._current().judge()

    def fingerprint(self, key: bytes) -> str:
        """Keyed digest of the declared columns as a multiset of rows: a table has no order.

        Each row is hashed where it lies, with a key for this purpose alone, and sums of the hashes come back.
        """
        self._current()
        digest = hmac.new(key, digestmod=lambda: blake2b(digest_size=32))
        for name, table in self._tables.items():
            if name:
                digest.update(f"table {len(name)} {name}\n".encode())
            columns = sorted(self._columns(name))
            for column in columns:
                digest.update(f"column {len(column)} {column} {table.kinds[column]}\n".encode())
            digest.update(" ".join(map(str, self._hash_sums(key, table, columns))).encode())
        return digest.hexdigest()

    @abstractmethod
    def _hash_sums(self, key: bytes, table: TableOfRecords, columns: Sequence[str]) -> Sequence[int]:
        """Number of rows, and the sum over rows of each part of a row's hash."""

    def _columns(self, table: str) -> tuple[str, ...]:
        domain = self.domain.table_of_records(table) if self.domain.has_features else self.domain
        return domain.source_columns
