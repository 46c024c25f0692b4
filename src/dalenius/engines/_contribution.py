"""Which rows of a person count, when a person has more than the declared number.

The choice is a function of the person's own rows and a secret: the rows come in the order of a keyed hash of
(person, coded row), and the first `max_rows` stay. It never depends on the position in the file or on other
persons, so one person more or less changes at most `max_rows` rows. Rows that tie are equal in every declared
variable, and it makes no difference which of them stays. Rows without a person are dropped.

There are two rules, and a registered version keeps the one under which it was registered (`Domain.row_choice`). Rule 1
hashes with BLAKE2b, one row at a time. Rule 2 hashes with SipHash-2-4, whole columns at a time: the message is a word that
stands for the person's text, and the codes in the narrowest signed type that holds what was declared. That two persons may
share a word is of no consequence: a person's rows are found by the person, the word only orders them.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import FIRST_ROW_CHOICE, Domain, Variable
from dalenius.engines._people import People
from dalenius.exact.siphash import siphash, siphash_columns

IntArray = NDArray[np.int64]
Words = NDArray[np.uint64]
_FACTOR = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}
_PERSONS_AT_ONCE = 1 << 16


def code_type(variable: Variable) -> np.dtype[Any]:
    """The narrowest signed type that holds every code of a variable, by the declaration alone."""
    if variable.is_numeric:
        return np.dtype("<i8")
    size = len(variable.categories)
    return np.dtype("<i1" if size <= 2**7 else "<i2" if size <= 2**15 else "<i4")


def kept(domain: Domain, secret: bytes, person: str, rows: Iterable[tuple[int, Sequence[int]]]) -> list[int]:
    """Of (position, codes) rows of one person, the positions that count; codes are in declared order."""
    numbered, most = list(rows), domain.neighbours.max_rows
    if len(numbered) <= most:
        return [position for position, _ in numbered]
    ordered = sorted(numbered, key=lambda row: _row_key(domain, secret, person, row[1]))
    return sorted(position for position, _ in ordered[:most])


def _row_key(
    domain: Domain, secret: bytes, person: str, codes: Sequence[int]
) -> tuple[bytes | int, tuple[int, ...]]:
    """Sort key of one row within its person."""
    name = person.encode("utf-8", "surrogateescape")
    if domain.row_choice == FIRST_ROW_CHOICE:
        content = pack("<q", len(name)) + name + pack(f"<{len(codes)}q", *codes)
        key = blake2b(secret).digest()
        return blake2b(content, key=key, digest_size=16, person=b"dalenius-rows").digest(), tuple(codes)
    kinds = "".join(_LETTERS[code_type(variable).itemsize] for variable in domain.variables.values())
    message = pack(f"<Q{kinds}", _person_word(name), *codes)
    return siphash(_key(secret), message), tuple(codes)


def _key(secret: bytes) -> bytes:
    return blake2b(blake2b(secret).digest(), digest_size=16, person=b"dalenius-rows-2").digest()


def _person_word(name: bytes) -> int:
    """The word that stands for a person's text: the sum of (byte + 1) * factor^place, modulo 2^64."""
    word, power = 0, 1
    for byte in name:
        word, power = word + (byte + 1) * power & _MASK, power * _FACTOR & _MASK
    return word


def kept_rows(
    domain: Domain, secret: bytes, columns: Mapping[str, NDArray[Any]], people: People
) -> tuple[NDArray[np.bool_], int]:
    """Which rows of whole coded columns count, and how many persons there are."""
    order = _by_person(people)
    numbers = people.numbers[order]
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])) if len(order) else np.empty(0, int)
    sizes = np.diff(starts, append=len(order))
    keep = np.ones(len(people.numbers), dtype=bool) if people.present is None else people.present.copy()
    is_over = sizes > domain.neighbours.max_rows
    if is_over.any():
        persons, numbers = people.texts(numbers[starts[is_over]]), np.empty(0)
        rows = order[np.repeat(is_over, sizes)]
        keep[rows] = False
        choose = _chosen_one_by_one if domain.row_choice == FIRST_ROW_CHOICE else _chosen
        ordered = [columns[name] for name in domain.variables]
        keep[choose(domain, secret, ordered, rows, sizes[is_over], persons)] = True
    return keep, len(sizes)


def _by_person(people: People) -> NDArray[Any]:
    """Rows that have a person, one person after another."""
    narrow = np.int32 if len(people.numbers) < 2**31 else np.int64
    if people.present is None:
        return np.argsort(people.numbers).astype(narrow)
    rows = np.flatnonzero(people.present).astype(narrow)
    return rows[np.argsort(people.numbers[rows])]


def _chosen_one_by_one(
    domain: Domain, secret: bytes, columns: list[NDArray[Any]], rows: IntArray, sizes: IntArray, persons: Any
) -> IntArray:
    """The rows that stay under the first rule."""
    matrix = np.stack([column[rows] for column in columns], axis=1).tolist()
    stay: list[int] = []
    start = 0
    for person, size in zip(persons.to_pylist(), sizes.tolist(), strict=True):
        part = slice(start, start + size)
        stay += kept(domain, secret, person, zip(rows[part].tolist(), matrix[part], strict=True))
        start += size
    return np.asarray(stay, dtype=np.int64)


def _chosen(
    domain: Domain, secret: bytes, columns: list[NDArray[Any]], rows: IntArray, sizes: IntArray, persons: Any
) -> IntArray:
    """The rows that stay under the second rule: persons one after another, each in the order of the hash."""
    hashes = _hashes(domain, secret, columns, rows, sizes, persons)
    keys = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    bits = max(1, len(sizes).bit_length())
    keys <<= np.uint64(64 - bits)
    keys |= hashes >> np.uint64(bits)
    order = np.argsort(keys)
    if _has_ties(keys, order, rows, columns):
        # The bits of the hash beside the person's number do not tell two different rows apart.
        owner = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((*(column[rows] for column in reversed(columns)), hashes, owner))
    return rows[order[_first_of_each(sizes, domain.neighbours.max_rows)]]


def _has_ties(keys: Words, order: IntArray, rows: IntArray, columns: list[NDArray[Any]]) -> bool:
    """Whether rows with different codes have equal keys."""
    keys = keys[order]
    tied = np.flatnonzero(keys[1:] == keys[:-1])
    first, second = rows[order[tied]], rows[order[tied + 1]]
    return any(bool((column[first] != column[second]).any()) for column in columns)


def _first_of_each(sizes: IntArray, most: int) -> NDArray[np.bool_]:
    """Of groups of rows that follow one another, which rows are among the first of their group."""
    steps = np.zeros(int(sizes.sum()) + 1, dtype=np.int8)
    starts = np.cumsum(sizes) - sizes
    # Groups hold more rows than stay, so that a start and an end never fall together.
    steps[starts] = 1
    steps[starts + most] = -1
    return np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)


def _hashes(
    domain: Domain, secret: bytes, columns: list[NDArray[Any]], rows: IntArray, sizes: IntArray, persons: Any
) -> Words:
    """The hash of each row, many persons at a time."""
    kinds = [code_type(variable) for variable in domain.variables.values()]
    width = sum(kind.itemsize for kind in kinds)
    key, ends = _key(secret), np.cumsum(sizes)
    out = np.empty(len(rows), dtype=np.uint64)
    for first in range(0, len(sizes), _PERSONS_AT_ONCE):
        some = slice(first, first + _PERSONS_AT_ONCE)
        start, stop = int(ends[first] - sizes[first]), int(ends[some][-1])
        words = np.repeat(_person_words(persons[some]), sizes[some])
        message = np.zeros((-(-width // 8), stop - start, 8), dtype=np.uint8)
        place = 0
        for column, kind in zip(columns, kinds, strict=True):
            content = np.ascontiguousarray(column[rows[start:stop]], dtype=kind).view(np.uint8)
            for byte in content.reshape(-1, kind.itemsize).T:
                message[place // 8, :, place % 8] = byte
                place += 1
        packed = [part.view(np.uint64).reshape(-1) for part in message]
        out[start:stop] = siphash_columns(key, [words, *packed], 8 + width)
    return out


def _person_words(persons: Any) -> Words:
    """The words of many persons at once; powers of the factor run on over all texts and are divided out at the end."""
    import pyarrow as pa

    texts = persons.cast(pa.large_string())
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    words = np.zeros(len(texts), dtype=np.uint64)
    is_filled = ends[1:] > ends[:-1]
    if is_filled.any():
        letters = np.frombuffer(content, dtype=np.uint8)[ends[0] : ends[-1]].astype(np.uint64) + np.uint64(1)
        letters *= _powers(_FACTOR, len(letters))
        starts = (ends[:-1] - ends[0])[is_filled]
        shifts = _powers(pow(_FACTOR, -1, 2**64), int(starts[-1]) + 1)[starts]
        words[is_filled] = np.add.reduceat(letters, starts) * shifts
    return words


def _powers(factor: int, count: int) -> Words:
    powers = np.full(count, factor, dtype=np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers, dtype=np.uint64)
