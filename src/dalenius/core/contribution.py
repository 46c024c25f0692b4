"""Which rows of a person count, when a person has more than the declared number.

The choice is a function of the person's own rows and a secret: the rows come in the order of a keyed hash of
(person, coded row), and the first `max_rows` stay. It never depends on the position in the file or on other
persons, so one person more or less changes at most `max_rows` rows. Rows that tie are equal in every declared
variable, and it makes no difference which of them stays. Rows without a person are dropped.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from struct import pack


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
