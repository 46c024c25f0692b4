"""Which rows of a person count, when a person has more than the declared number.

The choice is a function of the person's own rows and a secret: the rows come in the order of a keyed hash of
(person, coded row), and the first `max_rows` stay. It never depends on the position in the file or on other
persons, so one person more or less changes at most `max_rows` rows. Rows that tie are equal in every declared
variable, and it makes no difference which of them stays. Rows without a person are dropped.

There are three rules, and a registered version keeps the one under which it was registered (`Domain.row_choice`). Rule 1
hashes with BLAKE2b, one row at a time. Rule 2 hashes with SipHash-2-4, whole columns at a time: the message is a word that
stands for the person's text, and the codes in the narrowest signed type that holds what was declared. Rule 3, for every new
registration, has a hash of its own (`_row_hash`) and is worked out without a sort of all rows (`_row_choice`). That two persons
may share a word is of no consequence: a person's rows are found by the person, the word only orders them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import FIRST_ROW_CHOICE, NEWEST_ROW_CHOICE, Domain, Variable
from dalenius.engines._columns import Column
from dalenius.engines._people import ROWS_AT_ONCE, People
from dalenius.engines._person_words import digit_words, person_word, text_words
from dalenius.engines._row_choice import RowChoice
from dalenius.engines._row_hash import RowHash, numbers_of_digits, numbers_of_texts
from dalenius.exact.siphash import siphash, siphash_columns

IntArray = NDArray[np.int64]
Words = NDArray[np.uint64]
_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}


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
    if domain.row_choice == NEWEST_ROW_CHOICE:
        third = RowHash(domain, secret)
        ordered = sorted(numbered, key=lambda row: (third.of(person, row[1]), tuple(row[1])))
    else:
        ordered = sorted(numbered, key=lambda row: _row_key(domain, secret, person, row[1]))
    return sorted(position for position, _ in ordered[:most])


def _row_key(
    domain: Domain, secret: bytes, person: str, codes: Sequence[int]
) -> tuple[bytes | int, tuple[int, ...]]:
    """Sort key of one row within its person, under the first two rules."""
    name = person.encode("utf-8", "surrogateescape")
    if domain.row_choice == FIRST_ROW_CHOICE:
        content = pack("<q", len(name)) + name + pack(f"<{len(codes)}q", *codes)
        key = blake2b(secret).digest()
        return blake2b(content, key=key, digest_size=16, person=b"dalenius-rows").digest(), tuple(codes)
    kinds = "".join(_LETTERS[code_type(variable).itemsize] for variable in domain.variables.values())
    message = pack(f"<Q{kinds}", person_word(name), *codes)
    return siphash(_key(secret), message), tuple(codes)


def _key(secret: bytes) -> bytes:
    return blake2b(blake2b(secret).digest(), digest_size=16, person=b"dalenius-rows-2").digest()


def _factor(secret: bytes) -> int:
    """The odd number by which persons are spread before they are sorted; no choice depends on it."""
    return int.from_bytes(blake2b(secret, digest_size=8, person=b"dalenius-spread").digest()) | 1


def kept_rows(
    domain: Domain, secret: bytes, columns: Mapping[str, NDArray[Any]], people: People
) -> NDArray[np.bool_]:
    """Which rows of whole coded columns count."""
    if domain.row_choice == NEWEST_ROW_CHOICE:
        return _kept_by_third_rule(domain, secret, columns, people)
    keep = np.ones(len(people.numbers), dtype=bool) if people.present is None else people.present.copy()
    choose = _chosen_one_by_one if domain.row_choice == FIRST_ROW_CHOICE else _chosen
    for rows, sizes in people.crowds(domain.neighbours.max_rows, _factor(secret)):
        codes = [columns[name][rows] for name in domain.variables]
        persons = people.numbers[rows[np.cumsum(sizes) - sizes]]
        keep[rows] = choose(domain, secret, codes, sizes, people, persons)
    return keep


class CountingRows:
    """The third rule, for rows that come in chunks: what was added, and then which rows of each chunk count.

    `words` gives the words that stand for persons in the hash, by their numbers.
    """

    def __init__(
        self, domain: Domain, secret: bytes, words: Callable[[IntArray], Words] = numbers_of_digits
    ) -> None:
        self._hash = RowHash(domain, secret)
        self._words = words
        self._choice = RowChoice(domain.neighbours.max_rows, self._hash.factor, self._hashed)
        self._present: list[NDArray[np.bool_] | None] = []
        self._kinds = [code_type(variable) for variable in domain.variables.values()]

    def _hashed(self, numbers: IntArray, contents: NDArray[Any]) -> Words:
        return self._hash.of_rows(self._words(numbers), contents)

    def add(
        self,
        numbers: NDArray[Any],
        codes: Sequence[Column],
        present: NDArray[np.bool_] | None = None,
        *,
        has_order: bool = True,
    ) -> None:
        """Persons as numbers, and codes in declared order; rows that are not present have no person."""
        self._present.append(present)
        contents = self._hash.contents(codes, len(numbers))
        if present is not None:
            numbers, contents = numbers[present], contents[present]
        self._choice.add(numbers.astype(np.int64, copy=False), contents, has_order=has_order)

    def masks(self) -> Iterator[NDArray[np.bool_]]:
        """Which rows of each chunk count."""
        for present, mask in zip(self._present, self._choice.masks(), strict=True):
            if present is None:
                yield mask
            else:
                whole = np.zeros(len(present), dtype=np.bool_)
                whole[present] = mask
                yield whole

    @property
    def is_packed(self) -> bool:
        """Whether rows that count can be had without their places: their codes fit into one word."""
        return self._hash.is_packed

    def kept(self, has_owners: bool) -> tuple[list[NDArray[Any]], NDArray[Any] | None]:
        """The columns of codes of the rows that count, in an order of their own, and if asked for the numbers of their persons."""
        parts: list[NDArray[Any]] = []
        owners = [np.empty(0, dtype=np.int64)]
        for contents, persons in self._choice.kept(has_persons=has_owners):
            parts.append(contents)
            owners += [] if persons is None else [persons]
        columns = [np.empty(sum(map(len, parts)), dtype=kind) for kind in self._kinds]
        start = 0
        for contents in parts:
            for place, column in enumerate(columns):
                column[start : start + len(contents)] = self._hash.codes(contents, place)
            start += len(contents)
        return columns, np.concatenate(owners) if has_owners else None

    @property
    def sizes(self) -> tuple[int, int]:
        """How many persons there are, and how many rows without one; known after the rows."""
        without = (int(np.count_nonzero(~present)) for present in self._present if present is not None)
        return self._choice.persons, sum(without)


def _kept_by_third_rule(
    domain: Domain, secret: bytes, columns: Mapping[str, NDArray[Any]], people: People
) -> NDArray[np.bool_]:
    numbers, present = people.numbers, people.present
    rows = CountingRows(domain, secret, numbers_of_digits if people.are_digits else _looked_up(people))
    for start in range(0, len(numbers), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        codes = [columns[name][part] for name in domain.variables]
        rows.add(numbers[part], codes, None if present is None else present[part])
    return np.concatenate([np.empty(0, dtype=np.bool_), *rows.masks()])


def _looked_up(people: People) -> Callable[[IntArray], Words]:
    """The words of persons who are numbered by their texts."""
    # Where nobody is present there are no texts, whatever the numbers are.
    present = people.numbers if people.present is None else people.numbers[people.present]
    last = int(present.max(initial=-1))
    parts = [np.empty(0, dtype=np.uint64)]
    for start in range(0, last + 1, ROWS_AT_ONCE):
        parts.append(numbers_of_texts(people.texts(np.arange(start, min(last + 1, start + ROWS_AT_ONCE)))))
    words = np.concatenate(parts)
    return lambda numbers: np.take(words, numbers)


def _chosen_one_by_one(
    domain: Domain,
    secret: bytes,
    codes: list[NDArray[Any]],
    sizes: IntArray,
    people: People,
    persons: NDArray[Any],
) -> NDArray[np.bool_]:
    """The rows that stay under the first rule."""
    stay = np.zeros(int(sizes.sum()), dtype=bool)
    matrix = list(zip(*(column.tolist() for column in codes), strict=True)) or [()] * len(stay)
    start = 0
    for person, size in zip(people.texts(persons).to_pylist(), sizes.tolist(), strict=True):
        stay[kept(domain, secret, person, enumerate(matrix[start : start + size], start))] = True
        start += size
    return stay


def _chosen(
    domain: Domain,
    secret: bytes,
    codes: list[NDArray[Any]],
    sizes: IntArray,
    people: People,
    persons: NDArray[Any],
) -> NDArray[np.bool_]:
    """The rows that stay under the second rule: of each person those whose hash is not above the last that stays."""
    most = domain.neighbours.max_rows
    owner = np.repeat(np.arange(len(sizes)), sizes)
    words = digit_words(persons) if people.are_digits else text_words(people.texts(persons))
    hashes = _hashes(domain, secret, codes, words[owner])
    firsts = np.cumsum(sizes) - sizes
    keys = hashes
    if most == 1:
        lasts = np.minimum.reduceat(hashes, firsts) if len(sizes) else hashes
    else:
        bits = max(1, len(sizes).bit_length())
        keys = owner.view(np.uint64) << np.uint64(64 - bits)
        keys |= hashes >> np.uint64(bits)
        lasts = np.sort(keys)[firsts + (most - 1)]
    stay: NDArray[np.bool_] = keys <= lasts[owner]
    if np.count_nonzero(stay) > most * len(sizes):
        _settle_ties(stay, owner, hashes, codes, most)
    return stay


def _settle_ties(
    stay: NDArray[np.bool_], owner: IntArray, hashes: Words, codes: list[NDArray[Any]], most: int
) -> None:
    """Of persons of whom more rows stay, because rows or their short keys are equal, the first by the whole rule."""
    is_crowded = np.bincount(owner[stay]) > most
    rows = np.flatnonzero(is_crowded[owner] & stay)
    order = np.lexsort((*(column[rows] for column in reversed(codes)), hashes[rows], owner[rows]))
    starts = np.flatnonzero(np.append(True, np.diff(owner[rows]) > 0))
    rank = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
    stay[rows[order]] = rank < most


def _hashes(domain: Domain, secret: bytes, codes: list[NDArray[Any]], words: Words) -> Words:
    """The hash of each row: the word of its person, and its codes one after another."""
    kinds = [code_type(variable) for variable in domain.variables.values()]
    width = sum(kind.itemsize for kind in kinds)
    message = [np.zeros(len(words), dtype=np.uint64) for _ in range(-(-width // 8))]
    place = 0
    for column, kind in zip(codes, kinds, strict=True):
        bits = column.astype(kind, copy=False).view(f"<u{kind.itemsize}").astype(np.uint64)
        word, shift = place // 8, 8 * (place % 8)
        message[word] |= bits << np.uint64(shift)
        if shift + 8 * kind.itemsize > 64:
            message[word + 1] |= bits >> np.uint64(64 - shift)
        place += kind.itemsize
    return siphash_columns(_key(secret), [words, *message], 8 + width)
