"""Which rows stay of persons with too many, without a sort of all rows: chunk by chunk, then some persons at a time.

Persons are numbers. Rows of a chunk are brought into the order of the first bits of their person's number times a
secret odd factor. Rows of all chunks with the same first bits hold all rows of their persons, and are few enough for
the cache of a processor. There they are put in order by further bits of the product and the first bits of the hash, so
that rows of a person lie side by side, those of smallest hash first; what these bits do not tell apart is told apart by
whole numbers and hashes. Words of 16 bits are put in order by their digits, which is as fast on one machine as on
another. Nothing is skipped because of what most rows are like: a person's rows change the work on these rows and
nothing else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import IntArray

Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]
_PART_BITS = 8
_ROWS_OF_GROUP = 1 << 15
_ROWS_OF_CHUNK = 1 << 17
_BYTES_TO_KEEP = 31 << 20
# A word of 32 bits: so many of a person's product, then so many of a row's hash.
_PERSON_BITS, _HASH_BITS = 22, 10
_PARTS = np.arange(2**_PART_BITS, dtype=np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Rows in the order of their parts, where each part begins, and which row each was if that is asked for."""

    persons: IntArray
    contents: NDArray[Any]
    bounds: list[int]
    order: NDArray[np.uint32] | None


class RowChoice:
    """Takes persons and contents of rows, chunk by chunk; `most` rows of each person stay, those of smallest hash."""

    def __init__(self, most: int, factor: int, hashed: Callable[[IntArray, NDArray[Any]], Words]) -> None:
        self._most, self._hashed, self._factor = most, hashed, np.uint64(factor)
        self._chunks: list[_Chunk] = []
        self._waiting: list[tuple[IntArray, NDArray[Any]]] = []
        self._rows_waiting = 0
        self.persons: int = 0

    def add(self, persons: IntArray, contents: NDArray[Any], *, has_order: bool = True) -> None:
        """A chunk of rows; masks need chunks that keep their order, others are cut and put together as it suits."""
        if has_order:
            self._part(persons, contents, has_order=True)
            return
        for start in range(0, len(persons), _ROWS_OF_CHUNK):
            part = slice(start, start + _ROWS_OF_CHUNK)
            self._waiting.append((persons[part], contents[part]))
            self._rows_waiting += len(persons[part])
            if self._rows_waiting >= _ROWS_OF_CHUNK // 2:
                self._part_waiting()

    def _part_waiting(self) -> None:
        self._rows_waiting = 0
        if len(self._waiting) == 1:
            self._part(*self._waiting.pop(), has_order=False)
        elif self._waiting:
            persons, contents = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
            self._waiting.clear()
            self._part(persons, contents, has_order=False)

    def _part(self, persons: IntArray, contents: NDArray[Any], *, has_order: bool) -> None:
        short = (self._products(persons) >> np.uint64(64 - _PART_BITS)).astype(np.uint8)
        order = np.argsort(short, kind="stable")
        self._chunks.append(
            _Chunk(
                np.take(persons, order, mode="clip"),
                np.take(contents, order, mode="clip"),
                [*np.searchsorted(short[order], _PARTS).tolist(), len(order)],
                order.astype(np.uint32) if has_order else None,
            )
        )

    def masks(self) -> Iterator[Mask]:
        """For each chunk which of its rows stay; chunks are let go of."""
        keeps = [np.empty(len(chunk.persons), dtype=np.bool_) for chunk in self._chunks]
        for first, last, _, _, stay in self._decided():
            pairs = zip(keeps, self._chunks, strict=True)
            spans = [keep[chunk.bounds[first] : chunk.bounds[last]] for keep, chunk in pairs]
            mask = np.zeros(sum(map(len, spans)), dtype=np.bool_)
            mask[stay] = True
            done = 0
            for span in spans:
                span[:] = mask[done : done + len(span)]
                done += len(span)
        for keep, chunk in zip(keeps, self._chunks, strict=True):
            assert chunk.order is not None  # The caller kept it.
            own = np.empty_like(keep)
            own[chunk.order.astype(np.int64)] = keep
            yield own
        self._chunks.clear()

    def kept(self, *, has_persons: bool) -> Iterator[tuple[NDArray[Any], IntArray | None]]:
        """Contents of the rows that stay, in an order of their own, and if asked for persons; frees the chunks."""
        self._part_waiting()
        for _, _, persons, contents, stay in self._decided():
            owners = np.take(persons, stay, mode="clip") if has_persons else None
            yield np.take(contents, stay, mode="clip"), owners
        self._chunks.clear()

    def _decided(self) -> Iterator[tuple[int, int, IntArray, NDArray[Any], IntArray]]:
        """First and last of some parts, the persons and contents of all their rows, and which of these stay."""
        # Where memory of this size was freed once, the C library does not give it back to the system after each group.
        np.empty(_BYTES_TO_KEEP, dtype=np.uint8)
        rows = sum(len(chunk.persons) for chunk in self._chunks)
        groups = min(2**_PART_BITS, 1 << (rows // _ROWS_OF_GROUP).bit_length())
        for first, last in pairwise(range(0, 2**_PART_BITS + 1, 2**_PART_BITS // groups)):
            spans = [(chunk, slice(chunk.bounds[first], chunk.bounds[last])) for chunk in self._chunks]
            if not spans:
                continue
            persons = np.concatenate([chunk.persons[span] for chunk, span in spans])
            contents = np.concatenate([chunk.contents[span] for chunk, span in spans])
            # The first bits are the same for all.
            products = self._products(persons) << np.uint64(groups.bit_length() - 1)
            ordered = _Ordered(persons, products, self._hashed(persons, contents))
            self.persons += len(ordered.starts)
            yield first, last, persons, contents, ordered.first(self._most)

    def _products(self, persons: IntArray) -> Words:
        return persons.view(np.uint64) * self._factor


class _Ordered:
    """Rows person after person, and those of a person by the first bits of their hashes."""

    def __init__(self, persons: IntArray, products: Words, hashes: Words) -> None:
        self._hashes = hashes
        products >>= np.uint64(64 - _PERSON_BITS)
        products <<= np.uint64(_HASH_BITS)
        products |= hashes >> np.uint64(64 - _HASH_BITS)
        words = products.astype(np.uint32)
        self._words = words
        self._order = np.lexsort((words.astype(np.uint16), (words >> np.uint32(16)).astype(np.uint16)))
        self.starts = _starts(np.take(persons, self._order, mode="clip"))
        leads = self._words_at(self.starts) >> np.uint32(_HASH_BITS)
        is_shared = leads[1:] == leads[:-1]
        if is_shared.any():
            self._tell_apart(persons, np.append(is_shared, False) | np.insert(is_shared, 0, False))

    def _words_at(self, places: IntArray) -> NDArray[np.uint32]:
        return np.take(self._words, np.take(self._order, places))

    def _tell_apart(self, persons: IntArray, is_shared: Mask) -> None:
        """Stretches of persons with the same bits of the product, by their whole numbers."""
        ends = np.append(self.starts[1:], len(self._order))
        places = _places(self.starts[is_shared], (ends - self.starts)[is_shared])
        rows = self._order[places]
        words = self._words[rows]
        self._order[places] = rows[np.lexsort((words, persons[rows], words >> np.uint32(_HASH_BITS)))]
        self.starts = _starts(np.take(persons, self._order, mode="clip"))

    def first(self, most: int) -> IntArray:
        """The rows of each person that have the smallest hashes, so many at most; of rows that hash alike any."""
        sizes = np.diff(self.starts, append=len(self._order))
        over = np.flatnonzero(sizes > most)
        if not len(over):
            return self._order
        cuts = self.starts[over] + most
        tied = over[self._words_at(cuts) == self._words_at(cuts - 1)]
        if len(tied):
            self._settle(self.starts[tied], sizes[tied])
        return np.take(self._order, _places(self.starts, np.minimum(sizes, most)), mode="clip")

    def _settle(self, starts: IntArray, sizes: IntArray) -> None:
        """Rows of some persons, of whom the first bits of hashes tie at the bound: by whole hashes."""
        owners, places = np.repeat(np.arange(len(sizes)), sizes), _places(starts, sizes)
        words, hashes = self._words_at(places), self._hashes[self._order[places]]
        differs = (words[1:] == words[:-1]) & (hashes[1:] != hashes[:-1])
        is_mixed = np.zeros(len(sizes), dtype=np.bool_)
        is_mixed[owners[1:][differs]] = True
        mixed = np.flatnonzero(is_mixed[owners])
        inner = mixed[np.lexsort((hashes[mixed], owners[mixed]))]
        self._order[places[mixed]] = self._order[places[inner]]


def _starts(owners: IntArray) -> IntArray:
    """Where another owner begins; rows of each follow one another."""
    changes = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    return np.concatenate([np.zeros(min(1, len(owners)), dtype=np.int64), changes])


def _places(starts: IntArray, sizes: IntArray) -> IntArray:
    """So many places from each start on, one stretch after another."""
    ends = np.cumsum(sizes)
    places = np.repeat(starts - ends + sizes, sizes)
    places += np.arange(len(places))
    return places
