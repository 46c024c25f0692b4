"""Which rows of a person count, when a person has more than the declared number.

The choice is a function of the person's own rows and a secret: the rows come in the order of a keyed hash of
(person, coded row), and the first `max_rows` stay. It never depends on the position in the file or on other
persons, so one person more or less changes at most `max_rows` rows. Rows that tie are equal in every declared
variable, and it makes no difference which of them stays. Rows without a person are dropped.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from struct import pack

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def row_key(secret: bytes, person: str, codes: Sequence[int]) -> tuple[bytes, tuple[int, ...]]:
    """Sort key of one row within its person."""
    name = person.encode("utf-8", "surrogateescape")
    content = pack("<q", len(name)) + name + pack(f"<{len(codes)}q", *codes)
    key = blake2b(secret).digest()
    return blake2b(content, key=key, digest_size=16, person=b"dalenius-rows").digest(), tuple(codes)


def kept(secret: bytes, person: str, rows: Iterable[tuple[int, Sequence[int]]], most: int) -> list[int]:
    """Of (position, codes) rows of one person, the positions that count.

    >>> kept(b"secret", "p1", [(0, [5, 1]), (7, [5, 1])], 2)
    [0, 7]
    """
    numbered = list(rows)
    if len(numbered) <= most:
        return [position for position, _ in numbered]
    ordered = sorted(numbered, key=lambda row: row_key(secret, person, row[1]))
    return sorted(position for position, _ in ordered[:most])


def kept_rows(
    secret: bytes, columns: Sequence[IntArray], owner: IntArray, people: Sequence[str], most: int
) -> IntArray:
    """Positions that count, of whole coded columns whose rows belong to `people[owner]` (nobody for -1)."""
    keep: NDArray[np.bool_] = owner >= 0
    sizes = np.bincount(owner[keep], minlength=len(people) + 1)
    is_over = sizes > most
    rows = np.flatnonzero(is_over[owner] & keep)
    rows = rows[np.argsort(owner[rows], kind="stable")]
    if not len(rows):
        return np.flatnonzero(keep)
    keep[rows] = False
    matrix = np.stack([column[rows] for column in columns], axis=1).tolist()
    starts = np.flatnonzero(np.diff(owner[rows], prepend=-2)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
        mine = zip(rows[start:stop].tolist(), matrix[start:stop], strict=True)
        keep[kept(secret, people[int(owner[rows[start]])], mine, most)] = True
    return np.flatnonzero(keep)
