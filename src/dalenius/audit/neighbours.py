"""Tiny data sets, as multisets of units.

A unit is one row, or a person with several rows. Rows are opaque values that the caller can turn into columns.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

from dalenius.core.sensitivity import Sensitivity

Row = tuple[Any, ...]
Unit = tuple[Row, ...]
DataSet = tuple[Unit, ...]


def units(rows: Sequence[Row], max_rows: int = 1) -> list[Unit]:
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
    """Whether a declared sensitivity is at least the measured one, norm by norm."""
    return (
        declared.l0 >= measured.l0
        and declared.l1 >= measured.l1
        and declared.l2_squared >= measured.l2_squared
        and declared.linf >= measured.linf
    )
