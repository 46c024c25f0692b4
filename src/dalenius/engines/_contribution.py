"""Which rows of a person count, when a person has more than the declared number.

The choice is a function of the person's own rows and a secret: the rows come in the order of a keyed hash of
(person, coded row), and the first `max_rows` stay. It never depends on the position in the file or on other
persons, so one person more or less changes at most `max_rows` rows. Rows that tie are equal in every declared
variable, and it makes no difference which of them stays. Rows without a person are dropped.

The hash is that of `_row_hash`; the choice is worked out without a sort of all rows (`_row_choice`). That two persons
may share a word is of no consequence: a person's rows are found by the person, the word only orders them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import Domain, Variable
from dalenius.core.law import IntArray
from dalenius.engines._columns import Column
from dalenius.engines._people import ROWS_AT_ONCE, People
from dalenius.engines._row_choice import RowChoice
from dalenius.engines._row_hash import RowHash, numbers_of_digits, numbers_of_texts

Words = NDArray[np.uint64]


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
    hashed = RowHash(domain, secret)
    ordered = sorted(numbered, key=lambda row: (hashed.of(person, row[1]), tuple(row[1])))
    return sorted(position for position, _ in ordered[:most])


def kept_rows(domain: Domain, secret: bytes, columns: Mapping[str, NDArray[Any]], people: People) -> NDArray[np.bool_]:
    numbers, present = people.numbers, people.present
    rows = CountingRows(domain, secret, numbers_of_digits if people.are_digits else _looked_up(people))
    for start in range(0, len(numbers), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        codes = [columns[name][part] for name in domain.variables]
        rows.add(numbers[part], codes, None if present is None else present[part])
    return np.concatenate([np.empty(0, dtype=np.bool_), *rows.masks()])


class CountingRows:
    """The same for rows that come in chunks: what was added, and then which rows of each chunk count.

    `words` gives the words that stand for persons in the hash, by their numbers.
    """

    def __init__(self, domain: Domain, secret: bytes, words: Callable[[IntArray], Words] = numbers_of_digits) -> None:
        self._hash = RowHash(domain, secret)
        self._choice = RowChoice(
            domain.neighbours.max_rows,
            self._hash.factor,
            lambda numbers, contents: self._hash.of_rows(words(numbers), contents),
        )
        self._present: list[NDArray[np.bool_] | None] = []
        self._kinds = [code_type(variable) for variable in domain.variables.values()]

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
        """Codes of the rows that count, column by column in an order of their own, and if asked for their persons."""
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


def _looked_up(people: People) -> Callable[[IntArray], Words]:
    # Where nobody is present there are no texts, whatever the numbers are.
    present = people.numbers if people.present is None else people.numbers[people.present]
    last = int(present.max(initial=-1))
    ranges = (np.arange(start, min(last + 1, start + ROWS_AT_ONCE)) for start in range(0, last + 1, ROWS_AT_ONCE))
    words = np.concatenate([np.empty(0, dtype=np.uint64), *(numbers_of_texts(people.texts(part)) for part in ranges)])
    return lambda numbers: np.take(words, numbers)
