"""Plain counts by combinations of places: where the values of a row stand in lists that the declaration fixes.

A row costs a multiplication and an addition for each variable and one step of counting, whatever its values are; what
the places mean for the table (positions on its axes, conditions, values that were not declared) is worked out once, at
the end, on the counts.
"""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import IntArray
from dalenius.engines._columns import Column, Factored

# So many combinations are counted side by side; a table of more is tallied cell by cell.
MOST_COMBINATIONS = 1 << 22
_ROWS = 1 << 16


class JointCounts:
    """Counts of rows by the places of several variables, which stand for `codes`."""

    def __init__(self, codes: Mapping[str, IntArray]) -> None:
        self.codes: dict[str, IntArray] = dict(codes)
        self._sizes = [len(own) for own in codes.values()]
        self._counts = np.zeros(prod(self._sizes), dtype=np.int64)

    @classmethod
    def of(cls, batch: Mapping[str, Column], names: tuple[str, ...]) -> "JointCounts | None":
        """None where places follow from the content of a batch, or there are too many combinations of them."""
        codes = {}
        for name in names:
            column = batch[name]
            if not isinstance(column, Factored) or not column.is_declared:
                return None
            codes[name] = column.codes
        return cls(codes) if names and prod(map(len, codes.values())) <= MOST_COMBINATIONS else None

    def add(self, batch: Mapping[str, Column]) -> bool:
        """Count the rows of a batch; False, and nothing, where its places are not those of the declaration."""
        columns = [column for name in self.codes if isinstance(column := batch[name], Factored)]
        if [len(c.codes) for c in columns if c.is_declared] != self._sizes:
            return False
        places = [column.places for column in columns]
        rows = len(places[0])
        is_short = len(self._counts) <= 2**16
        kind: type[np.unsignedinteger[Any]] = np.uint16 if is_short else np.uint32
        numbers = np.empty(min(rows, _ROWS) if is_short else rows, dtype=np.int64)
        # A stretch at a time stays in the cache of a core, and short lists of counts do too.
        for start in range(0, rows, _ROWS):
            part = slice(start, start + _ROWS)
            number = places[0][part].astype(kind)
            for own, size in zip(places[1:], self._sizes[1:], strict=True):
                number *= kind(size)
                number += own[part].astype(kind, copy=False)
            if is_short:
                numbers[: len(number)] = number
                self._counts += np.bincount(numbers[: len(number)], minlength=len(self._counts))
            else:
                numbers[part] = number
        if not is_short:
            self._counts += np.bincount(numbers, minlength=len(self._counts))
        return True

    def table(self, axes: Mapping[str, tuple[int, IntArray]], kept: Mapping[str, NDArray[np.bool_]]) -> IntArray:
        """Counts by positions, flat in the order of the axes.

        `axes` gives for each variable on an axis how long it is and the position of each place (negative outside);
        `kept` tells which places of a variable satisfy the conditions on it.
        """
        counts = self._counts.reshape(self._sizes)
        for number, name in enumerate(self.codes):
            size, positions = axes.get(name, (1, np.zeros(self._sizes[number], dtype=np.int64)))
            is_in = (positions >= 0) & kept.get(name, True)
            counts = _gathered(counts, number, size, positions, is_in)
        order = [list(self.codes).index(name) for name in axes]
        rest = [number for number in range(len(self.codes)) if number not in order]
        return np.ascontiguousarray(counts.transpose([*order, *rest])).ravel()


def _gathered(counts: IntArray, axis: int, size: int, positions: IntArray, is_in: NDArray[np.bool_]) -> IntArray:
    """Counts with one axis of places turned into an axis of positions."""
    order = np.flatnonzero(is_in)
    order = order[np.argsort(positions[order], kind="stable")]
    filled, starts = np.unique(positions[order], return_index=True)
    shape = (*counts.shape[:axis], size, *counts.shape[axis + 1 :])
    if len(order) == size == len(filled):
        # Each position has its one place.
        return counts.take(order, axis=axis)
    turned = np.zeros(shape, dtype=np.int64)
    if len(order):
        sums = np.add.reduceat(counts.take(order, axis=axis), starts, axis=axis)
        turned[(slice(None),) * axis + (filled,)] = sums
    return turned
