"""Exhaustive neighbours: every small data set beside every neighbour of it, and how far exact answers move.

A data set is a multiset of units; a unit is one row, or a person with several rows. Rows are opaque values that the
caller can turn into columns. What is measured here is the truth that a declared sensitivity must not fall below.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dalenius.core.contracts import Source, Statistic
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import LabelsQuery, Query, RowsQuery, SizesQuery, TableQuery
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity
from dalenius.engines import rows_of
from dalenius.engines.memory import MemorySource

Row = tuple[Any, ...]
Unit = tuple[Row, ...]
DataSet = tuple[Unit, ...]


def units(rows: Sequence[Row], max_rows: int = 1) -> list[Unit]:
    """Every unit with at least one and at most `max_rows` rows over the given row values."""
    return [u for size in range(1, max_rows + 1) for u in combinations_with_replacement(rows, size)]


def data_sets(rows: Sequence[Row], most: int, max_rows: int = 1) -> Iterator[DataSet]:
    """Every data set of at most `most` units."""
    everyone = units(rows, max_rows)
    for size in range(most + 1):
        yield from combinations_with_replacement(everyone, size)


def neighbouring_pairs(
    rows: Sequence[Row], most: int, neighbours: Neighbours, given_rows: int | None = None
) -> Iterator[tuple[DataSet, DataSet]]:
    """Every pair of neighbours whose larger side has at most `most` units.

    `given_rows` lets units bring more rows than `max_rows`, which an engine then has to bound.
    """
    everyone = units(rows, neighbours.max_rows if given_rows is None else given_rows)
    for size in range(most):
        for others in combinations_with_replacement(everyone, size):
            if not neighbours.is_replace:
                for unit in everyone:
                    yield others, (*others, unit)
                continue
            for first, second in combinations_with_replacement(everyone, 2):
                if first != second:
                    yield (*others, first), (*others, second)


def columns_of(data: DataSet, names: Sequence[str], unit_id: str | None = None) -> dict[str, list[Any]]:
    """A data set as columns, with a person's number where the domain names one.

    A unit is numbered by its place. Two neighbours agree on the units that they share, because the changed unit
    comes last.
    """
    rows = [(number, row) for number, unit in enumerate(data) for row in unit]
    columns = {name: [row[i] for _, row in rows] for i, name in enumerate(names)}
    if unit_id is not None:
        columns[unit_id] = [number for number, _ in rows]
    return columns


@dataclass(frozen=True, slots=True)
class Move:
    """How far one pair of neighbours is apart."""

    l0: int
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction

    @classmethod
    def of(cls, first: Any, second: Any) -> "Move":
        """Between two exact answers."""
        shifts = [abs(int(a) - int(b)) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
        return cls(
            sum(s != 0 for s in shifts),
            Fraction(sum(shifts)),
            Fraction(sum(s * s for s in shifts)),
            Fraction(max(shifts, default=0)),
        )


def fetched(source: Source, query: Query) -> Sealed[Any]:
    """The exact aggregate that a query names."""
    if isinstance(query, SizesQuery):
        return source.sizes(query)
    if isinstance(query, LabelsQuery):
        return source.labels(query)
    if isinstance(query, RowsQuery):
        return rows_of(source, query)
    return source.table(query) if isinstance(query, TableQuery) else source.values(query)


def measured_sensitivity(
    query: Query,
    domain: Domain,
    rows: Sequence[Row],
    most: int = 4,
    *,
    given_rows: int | None = None,
    answer: Callable[[Any], Any] = lambda exact: exact,
    secret: bytes = b"a secret of the enumeration",
) -> Sensitivity:
    """Largest change of a query's answers between neighbours, by brute force.

    `rows` are tuples in the order of the domain's variables; `answer` maps the exact aggregate to what is released.
    """
    names = [variable.source_column for variable in domain.variables.values()]
    cache: dict[DataSet, Any] = {}

    def exact(data: DataSet) -> Any:
        if data not in cache:
            source = MemorySource(domain, columns_of(data, names, domain.unit_id), secret)
            cache[data] = np.asarray(answer(fetched(source, query).open_below_the_gate()))
        return cache[data]

    pairs = neighbouring_pairs(rows, most, domain.neighbours, given_rows)
    moves = {Move.of(exact(first), exact(second)) for first, second in pairs}
    return Sensitivity(
        l0=max((m.l0 for m in moves), default=0),
        l1=max((m.l1 for m in moves), default=Fraction(0)),
        l2_squared=max((m.l2_squared for m in moves), default=Fraction(0)),
        linf=max((m.linf for m in moves), default=Fraction(0)),
    )


def covers(declared: Sensitivity, measured: Sensitivity) -> bool:
    """Whether a declared sensitivity is at least the measured one, norm by norm."""
    return (
        declared.l0 >= measured.l0
        and declared.l1 >= measured.l1
        and declared.l2_squared >= measured.l2_squared
        and declared.linf >= measured.linf
    )


def check_statistic(
    statistic: Statistic, domain: Domain, rows: Sequence[Row], most: int = 4, given_rows: int | None = None
) -> Sensitivity:
    """Assert that a statistic declares at least what brute force finds; returns what was found."""
    declared = statistic.sensitivity(domain.neighbours)
    measured = measured_sensitivity(statistic.query, domain, rows, most, given_rows=given_rows)
    assert covers(declared, measured), (declared, measured)
    return measured
