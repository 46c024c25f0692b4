"""Sensitivities by exhaustive enumeration, independent of every closed form: the reference on tiny data."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity

Row = Any
Data = tuple[Row, ...]
Function = Callable[[Data], Any]
# A unit is one row, or a person with several; rows are opaque values that the caller can turn into columns.
RawRow = tuple[Any, ...]
Unit = tuple[RawRow, ...]
DataSet = tuple[Unit, ...]


def distance(left: Any, right: Any) -> Fraction:
    if isinstance(left, tuple | list):
        return sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(left, right, strict=True)), Fraction(0))
    return abs(Fraction(left) - Fraction(right))


def neighbours_of(data: Data, universe: Sequence[Row], relation: Relation) -> Iterator[Data]:
    """Every neighbour as a multiset (sorted); repetitions are possible."""
    if relation is Relation.REPLACE:
        for i in range(len(data)):
            for row in universe:
                yield tuple(sorted((*data[:i], row, *data[i + 1 :])))
        return
    for i in range(len(data)):
        yield (*data[:i], *data[i + 1 :])
    for row in universe:
        yield tuple(sorted((*data, row)))


def multisets(universe: Sequence[Row], size: int) -> Iterator[Data]:
    return combinations_with_replacement(sorted(universe), size)


def local(function: Function, data: Data, universe: Sequence[Row], relation: Relation) -> Fraction:
    here = function(data)
    return max((distance(function(d), here) for d in neighbours_of(data, universe, relation)), default=Fraction(0))


def units(rows: Sequence[RawRow], max_rows: int = 1) -> list[Unit]:
    """Every unit with at least one and at most `max_rows` rows over the given row values."""
    return [u for size in range(1, max_rows + 1) for u in combinations_with_replacement(rows, size)]


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


def covers(declared: Sensitivity, measured: Sensitivity) -> bool:
    return (
        declared.l0 >= measured.l0
        and declared.l1 >= measured.l1
        and declared.l2_squared >= measured.l2_squared
        and declared.linf >= measured.linf
    )
