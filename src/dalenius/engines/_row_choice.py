"""Which rows stay of persons with too many, without a sort of all rows: chunk by chunk, then some persons at a time.

Persons are numbers. Rows of a chunk are brought into the order of the first bits of their person's number times a secret odd factor.
Rows of all chunks with the same first bits hold all rows of their persons, and are few enough for the cache of a core. There each
person is given a place in a table, by further bits of the product, and who shares one is given another until nobody does. Rows are
counted by place, and those of persons over the bound are sorted by place and hash. Nothing is skipped because of what most rows
are like: a person's rows change the work on these rows and nothing else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]
_PART_BITS = 8
_ROWS_OF_GROUP = 1 << 15
_ROWS_OF_CHUNK = 1 << 19
_MANY_ROWS = 1 << 25
_FINER_BITS = 4
_ROUNDS = 6
_STRETCH = 1 << 13
_PARTS = np.arange(2**_PART_BITS, dtype=np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Rows in the order of their parts: persons and contents, where each part begins, and which row each was if that is asked for."""

    persons: IntArray
    contents: NDArray[Any]
    bounds: list[int]
    order: NDArray[np.uint32] | None
    keep: Mask


class RowChoice:
    """Takes persons and contents of rows, chunk after chunk, and tells which `most` rows of each person stay: those of smallest hash."""

    def __init__(self, most: int, factor: int, hashed: Callable[[IntArray, NDArray[Any]], Words]) -> None:
        self._most, self._hashed = most, hashed
        # Odd powers of an odd number: each round spreads persons in another way.
        self._factors = [np.uint64(pow(factor, 2 * power + 1, 2**64)) for power in range(_ROUNDS)]
        self._chunks: list[_Chunk] = []
        self._waiting: list[tuple[IntArray, NDArray[Any]]] = []
        self._table = np.empty(0, dtype=np.int64)
        self.persons = 0

    def add(self, persons: IntArray, contents: NDArray[Any], *, has_order: bool = True) -> None:
        """A chunk of rows; masks can only be had of chunks that keep their order, and others are put together to longer ones."""
        if has_order:
            self._part(persons, contents, has_order=True)
            return
        self._waiting.append((persons, contents))
        if sum(len(persons) for persons, _ in self._waiting) >= _ROWS_OF_CHUNK:
            self._part_waiting()

    def _part_waiting(self) -> None:
        if self._waiting:
            persons, contents = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
            self._waiting.clear()
            self._part(persons, contents, has_order=False)

    def _part(self, persons: IntArray, contents: NDArray[Any], *, has_order: bool) -> None:
        """Bring rows into the order of their parts."""
        short = _bits(persons, self._factors[0], 0)
        order = np.argsort(short, kind="stable")
        self._chunks.append(
            _Chunk(
                np.take(persons, order, mode="clip"),
                np.take(contents, order, mode="clip"),
                [*np.searchsorted(short[order], _PARTS).tolist(), len(order)],
                order.astype(np.uint32) if has_order else None,
                np.empty(len(order), dtype=np.bool_),
            )
        )

    def masks(self) -> Iterator[Mask]:
        """For each chunk which of its rows stay; chunks are let go of."""
        for chunk in self._decided():
            assert chunk.order is not None  # The caller kept it.
            mask = np.empty(len(chunk.order), dtype=np.bool_)
            mask[chunk.order.astype(np.int64)] = chunk.keep
            yield mask

    def kept(self, *, has_persons: bool) -> Iterator[tuple[NDArray[Any], IntArray | None]]:
        """Of each chunk the contents of the rows that stay, in an order of its own, and if asked for their persons; chunks are let go of."""
        for chunk in self._decided():
            persons = np.compress(chunk.keep, chunk.persons) if has_persons else None
            yield np.compress(chunk.keep, chunk.contents), persons

    def _decided(self) -> Iterator[_Chunk]:
        """All chunks, after it was decided which rows stay."""
        self._part_waiting()
        rows = sum(len(chunk.keep) for chunk in self._chunks)
        groups = min(2**_PART_BITS, 1 << (rows // _ROWS_OF_GROUP).bit_length())
        step = 2**_PART_BITS // groups
        for first in range(0, 2**_PART_BITS, step):
            self._decide(first, first + step, is_finer=rows >= _MANY_ROWS)
        self._table = np.empty(0, dtype=np.int64)
        self._chunks.reverse()
        while self._chunks:
            yield self._chunks.pop()

    def _decide(self, first: int, last: int, *, is_finer: bool) -> None:
        """On the rows of some parts, and so on all rows of their persons; parts of very many rows are parted once more."""
        spans = [(chunk, chunk.bounds[first], chunk.bounds[last]) for chunk in self._chunks]
        if not spans:
            return
        persons = np.concatenate([chunk.persons[start:stop] for chunk, start, stop in spans])
        contents = np.concatenate([chunk.contents[start:stop] for chunk, start, stop in spans])
        keep = (
            self._kept_by_parts(persons, contents) if is_finer else self._kept(persons, contents, _PART_BITS)
        )
        done = 0
        for chunk, start, stop in spans:
            chunk.keep[start:stop] = keep[done : done + stop - start]
            done += stop - start

    def _kept_by_parts(self, persons: IntArray, contents: NDArray[Any]) -> Mask:
        """By the next bits of the product: again all rows of a person are together."""
        short = _bits(persons, self._factors[0], _PART_BITS)
        order = np.argsort(short, kind="stable")
        ends = [
            *np.searchsorted(short[order], _PARTS[:: 2 ** (_PART_BITS - _FINER_BITS)]).tolist(),
            len(order),
        ]
        keep = np.empty(len(persons), dtype=np.bool_)
        for start, stop in pairwise(ends):
            rows = order[start:stop]
            own = np.take(persons, rows), np.take(contents, rows)
            keep[rows] = self._kept(*own, _PART_BITS + _FINER_BITS)
        return keep

    def _kept(self, persons: IntArray, contents: NDArray[Any], used: int) -> Mask:
        """Which rows stay; so many first bits of the product are the same for all."""
        places, size = self._places(persons, used)
        counts = np.bincount(places, minlength=size)
        self.persons += int(np.count_nonzero(counts))
        is_over = counts > self._most
        keep: Mask = ~np.take(is_over, places)
        rows = np.flatnonzero(~keep)
        over = np.flatnonzero(is_over)
        numbers = np.empty(size, dtype=np.int64)
        numbers[over] = np.arange(len(over))
        owners = np.take(numbers, np.take(places, rows))
        hashes = self._hashed(np.take(persons, rows), np.take(contents, rows))
        keep[rows] = first_rows(owners, hashes, counts[over], self._most)
        return keep

    def _places(self, persons: IntArray, used: int) -> tuple[IntArray, int]:
        """A place for each row, the same for two rows exactly if they have one person; and how many places there are."""
        places = rows = np.empty(0, dtype=np.int64)
        size = 0
        for factor in self._factors:
            bits = max(4, len(persons).bit_length())
            words = persons.view(np.uint64) * factor
            words <<= np.uint64(used)
            words >>= np.uint64(64 - bits)
            own = words.view(np.int64)
            # Of persons who share a place the one written last has it; what stood there before does not matter.
            table = self._room(1 << bits)
            table[own] = persons
            lost = np.flatnonzero(np.take(table, own, mode="clip") != persons)
            if size:
                own += size
                places[rows] = own
                rows = np.take(rows, lost)
            else:
                places, rows = own, lost
            size += 1 << bits
            if not len(lost):
                return places, size
            persons = np.take(persons, lost)
        distinct, inverse = np.unique(persons, return_inverse=True)
        places[rows] = size + inverse.ravel()
        return places, size + len(distinct)

    def _room(self, size: int) -> IntArray:
        if len(self._table) < size:
            self._table = np.empty(size, dtype=np.int64)
        return self._table[:size]


def _bits(persons: IntArray, factor: np.uint64, used: int) -> NDArray[np.uint8]:
    """Eight bits of products after the first ones, a stretch at a time: what is worked out of it stays in the cache."""
    bits = np.empty(len(persons), dtype=np.uint8)
    for start in range(0, len(persons), _STRETCH):
        part = slice(start, start + _STRETCH)
        words = persons[part].view(np.uint64) * factor
        words >>= np.uint64(64 - _PART_BITS - used)
        bits[part] = words.astype(np.uint8)
    return bits


def first_rows(owners: IntArray, hashes: Words, sizes: IntArray, most: int) -> Mask:
    """The `most` rows of smallest hash of each owner, all of whom have more; of rows that hash alike any.

    Owners are numbered from 0, and `sizes` says how many rows each has. What is sorted is the owner with the first bits of the hash.
    """
    if not len(sizes):
        return np.empty(0, dtype=np.bool_)
    bits = len(sizes).bit_length()
    kind: Any = np.uint32 if bits <= 16 else np.uint64
    width = 8 * kind().itemsize
    keys = (hashes >> np.uint64(64 - width + bits)).astype(kind)
    keys |= owners.astype(kind) << kind(width - bits)
    limits = np.take(np.sort(keys)[np.cumsum(sizes) - sizes + (most - 1)], owners)
    stay: Mask = keys <= limits
    has_more = np.bincount(np.compress(stay, owners), minlength=len(sizes)) > most
    tied = np.flatnonzero((keys == limits) & np.take(has_more, owners))
    if len(tied):
        stay[tied] = False
        free = most - np.bincount(np.compress(stay, owners), minlength=len(sizes))
        _settle(stay, tied, owners, hashes, free)
    return stay


def _settle(stay: Mask, tied: IntArray, owners: IntArray, hashes: Words, free: IntArray) -> None:
    """Of tied rows so many of each owner as are free stay, by their whole hashes."""
    own = np.take(owners, tied)
    # Short numbers are put in order by their digits.
    order = np.argsort(own.astype(np.uint16) if len(free) <= 2**16 else own, kind="stable")
    tied, own = tied[order], own[order]
    own_hashes = hashes[tied]
    differs = (own_hashes[1:] != own_hashes[:-1]) & (own[1:] == own[:-1])
    is_mixed = np.zeros(len(free), dtype=np.bool_)
    is_mixed[own[1:][differs]] = True
    mixed = np.flatnonzero(is_mixed[own])
    tied[mixed] = tied[mixed][np.lexsort((own_hashes[mixed], own[mixed]))]
    starts = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
    ranks = np.arange(len(own)) - np.repeat(starts, np.diff(starts, append=len(own)))
    stay[tied] = ranks < free[own]
