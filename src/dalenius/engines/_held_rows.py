"""The rows of persons that count, chosen once and kept in memory as narrow codes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import Domain, Variable
from dalenius.engines._columns import Column, Factored
from dalenius.engines._contribution import CountingRows, code_type, kept_rows
from dalenius.engines._duckdb_session import BATCH_ROWS
from dalenius.engines._features import RowsOfPersons
from dalenius.engines._fetched_columns import FetchedColumns
from dalenius.engines._people import ROWS_AT_ONCE, people_of
from dalenius.spec.coding import DROPPED_CATEGORY

_STRETCH = 1 << 13


class HeldRows:
    def __init__(
        self, domain: Domain, secret: bytes, fetched: FetchedColumns, stream: Callable[[str], Iterator[Any]]
    ) -> None:
        self._domain, self._secret, self._fetched, self._stream = domain, secret, fetched, stream
        self._held: Mapping[str, NDArray[Any]] | None = None
        self._owners: NDArray[Any] | None = None
        self._has_owners = False
        self._counted: tuple[int, int] | None = None

    def owners(self) -> NDArray[Any]:
        """The person of each row; kept from the first time that somebody asks."""
        if self._owners is None:
            self._held, self._has_owners = None, True
            self.columns()
        assert self._owners is not None
        return self._owners

    def batches(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        """The rows that count, from memory; categories are places in the list of all codes."""
        held = self.columns()
        rows = len(next(iter(held.values())))
        for start in range(0, rows, BATCH_ROWS):
            batch: dict[str, Column] = {}
            for name in names:
                part, variable = held[name][start : start + BATCH_ROWS], self._domain.variable(name)
                batch[name] = part
                if not variable.is_numeric:
                    codes = np.append(np.arange(len(variable.categories), dtype=np.int64), DROPPED_CATEGORY)
                    batch[name] = Factored(part, codes, is_declared=True)
            yield batch or {"": np.zeros(min(BATCH_ROWS, rows - start), dtype=np.int64)}

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """All declared variables of the rows that count, narrow: numbers, or places of categories; chosen once."""
        if self._held is None and self._fetched.has_numbered_persons:
            self._held = self._bounded_by_chunks()
        if self._held is None:
            rows = self.all_rows()
            keep = kept_rows(self._domain, self._secret, rows.columns, rows.people)
            columns = dict(rows.columns)
            self._owners = _those(rows.people.numbers, keep) if self._has_owners else None
            del rows
            self._held = {n: _as_places(v, _those(columns.pop(n), keep)) for n, v in self._domain.variables.items()}
        return self._held

    def _bounded_by_chunks(self) -> dict[str, NDArray[Any]] | None:
        """The same while rows are read, where the codes of a row fit into one word; None where they do not."""
        rows, variables = CountingRows(self._domain, self._secret), self._domain.variables
        if not rows.is_packed:
            return None
        for coded, unit in self._batches_of_persons():
            people = people_of([unit])
            rows.add(people.numbers, tuple(coded.values()), people.present, has_order=False)
        columns, self._owners = rows.kept(self._has_owners)
        self._counted = rows.sizes
        return {n: _as_places(v, c) for (n, v), c in zip(variables.items(), columns, strict=True)}

    def sizes(self) -> tuple[int, int]:
        if self._counted is not None:
            return self._counted
        statement = f"SELECT {self._fetched.unit} AS unit FROM {self._fetched.relation.sql}"
        people = people_of([batch.column("unit") for batch in self._stream(statement)])
        return people.count(), people.rows_without

    def all_rows(self) -> RowsOfPersons:
        """All rows as narrow codes, with the person of each; for features, which are taken of every row."""
        kinds = {name: code_type(variable) for name, variable in self._domain.variables.items()}
        parts: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, dtype=kind)] for name, kind in kinds.items()}
        units = []
        for coded, unit in self._batches_of_persons():
            for name, column in coded.items():
                parts[name].append(_narrow(column, kinds[name]))
            units.append(unit)
        columns = {name: np.concatenate(parts.pop(name)) for name in kinds}
        return RowsOfPersons(columns, people_of(units))

    def _batches_of_persons(self) -> Iterator[tuple[dict[str, Column], Any]]:
        names = tuple(self._domain.variables)
        for batch in self._stream(self._fetched.select(names, f"{self._fetched.unit} AS unit")):
            yield self._fetched.code(names, batch), batch.column("unit")


def _narrow(column: Column, kind: "np.dtype[Any]") -> NDArray[Any]:
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
