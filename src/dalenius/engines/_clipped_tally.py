"""Counts and totals to which a person adds at most so much in all cells together, by rows and by database groups.

The rule is `core.query.Clip`; here it is worked out for whole columns. What a person adds to a cell depends on the
person's steps in it and on the person's size over all cells, so that a database need send no persons, but numbers of
(cell, steps, size).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import Domain
from dalenius.core.law import IntArray
from dalenius.core.query import Clip, Norm, TableQuery
from dalenius.engines._columns import Column
from dalenius.engines._row_values import Width, joined, row_words
from dalenius.engines._tally import Tally

_ONE, _HALVES = Width(1, 32), Width(2, 32)


@dataclass(eq=False)
class ClippedTally:
    query: TableQuery
    domain: Domain
    _cells: list[IntArray] = field(default_factory=list)
    _owners: list[IntArray] = field(default_factory=list)
    _steps: list[IntArray] = field(default_factory=list)
    _further: dict[int, int] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.query.clip is not None  # The caller's query is clipped.
        self._clip: Clip = self.query.clip
        self._most = self.query.largest(self.domain) * self.domain.neighbours.max_rows
        self._tally = Tally(query=replace(self.query, clip=None), domain=self.domain)
        self._ranges = self.query.ranges(self.domain)

    def add(self, batch: Mapping[str, Column], owners: IntArray) -> None:
        cells, steps, chosen = self._shares(batch)
        self._cells.append(cells)
        self._steps.append(steps)
        self._owners.append(owners[chosen].astype(np.int64))

    def add_single(self, batch: Mapping[str, Column], counts: IntArray) -> None:
        """Rows that are units of their own, each standing for several equal ones."""
        cells, steps, chosen = self._shares(batch)
        pairs = zip(cells.tolist(), steps.tolist(), counts[chosen].tolist(), strict=True)
        groups = [(cell, x, self._clip.size((x,)), count) for cell, x, count in pairs]
        self.add_groups(groups)
        self.add_sizes((size, count) for _, _, size, count in groups)

    def add_groups(self, groups: Iterable[tuple[int, ...]]) -> None:
        """Of a cell: a person's steps in it, the person's size over all cells, and how many persons have both."""
        clipped = lru_cache(maxsize=1 << 16)(self._clip.clipped)
        for cell, steps, size, persons in groups:
            self._further[cell] = self._further.get(cell, 0) + persons * clipped(steps, size)

    def add_sizes(self, groups: Iterable[tuple[int, ...]]) -> None:
        for size, persons in groups:
            self._sizes[size] = self._sizes.get(size, 0) + persons

    def classes(self, clips: Sequence[Clip]) -> IntArray:
        """How many persons each clip is the first to leave as they are, and how many none of them does."""
        self.add_sizes((size, 1) for size in self._people()[3].tolist())
        counts = np.zeros(len(clips) + 1, dtype=np.int64)
        for size, persons in self._sizes.items():
            counts[sum(size > clip.most for clip in clips)] += persons
        return counts

    def result(self) -> IntArray:
        """The sum of every cell, clamped as all sums are; structural zeros hold nobody."""
        words = [np.zeros(self.query.space.size, dtype=np.int64) for _ in range(_HALVES.words)]
        if self._cells:
            cells, steps, numbers, sizes = self._people()
            parts = clipped_all(self._clip, steps, sizes[numbers])
            np.add.at(words[0], cells, parts & ((1 << _HALVES.bits) - 1))
            np.add.at(words[1], cells, parts >> _HALVES.bits)
        for cell, sum_of_cell in self._further.items():
            for word, part in zip(words, _HALVES.parts(sum_of_cell), strict=True):
                word[cell] += part
        total = joined(words, _HALVES, self.query.halvings)
        total[list(self.query.space.structural_indices)] = 0
        return total

    def _shares(self, batch: Mapping[str, Column]) -> tuple[IntArray, IntArray, NDArray[np.bool_] | slice]:
        cells, columns, chosen = self._tally.rows_in(batch)
        (steps,) = row_words(self.query, self._ranges, columns, _ONE)
        return cells.astype(np.int64), np.broadcast_to(steps, len(cells)).astype(np.int64), chosen

    def _people(self) -> tuple[IntArray, IntArray, IntArray, NDArray[Any]]:
        """Cells, steps and the place of a person, person by person; and the size of each person."""
        nothing = [np.empty(0, dtype=np.int64)]
        lists = (self._cells, self._owners, self._steps)
        cells, owners, steps = (np.concatenate([*nothing, *part]) for part in lists)
        if not len(cells):
            return cells, steps, owners, owners
        order = np.lexsort((cells, owners))
        cells, owners, steps = cells[order], owners[order], steps[order]
        is_new_person = np.append(True, owners[1:] != owners[:-1])
        is_new = is_new_person | np.append(True, cells[1:] != cells[:-1])
        starts = np.flatnonzero(is_new)
        steps, cells, is_first = np.add.reduceat(steps, starts), cells[starts], is_new_person[starts]
        # Sizes are at most the number of all steps of a person, or its square.
        is_wide = self._clip.norm is Norm.L2 and self._most >= 2**31
        sized = steps.astype(object) if is_wide else steps
        sized = np.abs(sized) if self._clip.norm is Norm.L1 else sized * sized
        persons = np.add.reduceat(sized, np.flatnonzero(is_first))
        return cells, steps, np.cumsum(is_first) - 1, persons


def clipped_all(clip: Clip, steps: IntArray, sizes: NDArray[Any]) -> IntArray:
    """`Clip.clipped` of many at once; equal pairs are worked out once."""
    parts = steps * clip.fineness
    beyond = np.flatnonzero(sizes > (clip.most if sizes.dtype == object else min(clip.most, 2**63 - 1)))
    if not len(beyond):
        return parts
    clipped = lru_cache(maxsize=1 << 20)(clip.clipped)
    pairs = zip(steps[beyond].tolist(), sizes[beyond].tolist(), strict=True)
    parts[beyond] = [clipped(x, size) for x, size in pairs]
    return parts


def clipped_sql(places: Sequence[str], steps: str, rows: str, rules: str, norm: Norm) -> tuple[str, str]:
    """Numbers of persons by cell, steps and size, and by size alone.

    From rows `c` with a person `u` and places, of which the given aggregate takes the steps.
    """
    own = "".join(f", c.{place} AS {place}" for place in places)
    by = "".join(f", c.{place}" for place in places)
    cells = f"SELECT c.u AS u{own}, CAST({steps} AS DECIMAL(18, 0)) AS x FROM {rows}{rules} GROUP BY c.u{by}"
    size = "abs(x)" if norm is Norm.L1 else "x * x"
    names = "".join(f"{place}, " for place in places)
    sized = f"SELECT {names}x, sum({size}) OVER (PARTITION BY u) AS z FROM ({cells}) q6"
    persons = f"SELECT sum({size}) AS z FROM ({cells}) q6 GROUP BY u"
    return (
        f"SELECT {names}x, z, count(*) AS n FROM ({sized}) q7 GROUP BY {names}x, z",
        f"SELECT z, count(*) AS n FROM ({persons}) q7 GROUP BY z",
    )
