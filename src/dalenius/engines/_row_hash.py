"""The hash by which rows of a person are ordered: a word for the person, a word for the codes, mixed.

A person whose text is a whole number of at most 18 digits is that number; any other text is its word of
`_person_words`. The codes of a row are packed into as few words of 64 bits as the declaration needs; several are folded
into one. Person and content are multiplied by a secret odd number each and added, and the sum is mixed by shifts and
multiplications. No step loses anything of the content, so rows of one person whose codes fit into one word hash alike
exactly if they are equal; of more words, two different rows do so about once in 2^64 pairs, and are then taken to be
equal.

The guarantee of privacy does not rest on this hash: whatever function of a person's own rows and a secret it were, one
person more or less would change no other person's rows. It is keyed and mixed so that no content is preferred. For that
little, a hash made against adversaries who choose messages (SipHash) takes many times as long.

References: Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators, OOPSLA (the mixing).
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import Domain, Variable
from dalenius.engines._arrow import as_numpy
from dalenius.engines._columns import Column, Factored
from dalenius.engines._person_words import digit_words, person_word, text_words

Words = NDArray[np.uint64]
_MASK = 2**64 - 1
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_LARGEST_NUMBER = 10**18
_STRETCH = 1 << 15
# Their values stay in the cache of a core.
_MOST_COMBINATIONS = 1 << 13


class RowHash:
    def __init__(self, domain: Domain, secret: bytes) -> None:
        self._widths = [_width(variable) for variable in domain.variables.values()]
        self._words = _layout(self._widths)
        self._factors = [_odd(secret, place) for place in range(1 + max(1, len(self._words)))]

    @property
    def factor(self) -> int:
        return self._factors[0]

    def of(self, person: str, codes: Sequence[int]) -> int:
        """The hash of one row; codes are in declared order."""
        packed = [sum(codes[column] + 1 << shift for column, shift in word) & _MASK for word in self._words]
        content = packed[0] if packed else 0
        if len(packed) > 1:
            content = 0
            for word, factor in zip(packed, self._factors[1:], strict=True):
                content = (content ^ content >> 32) * _FIRST + word * factor & _MASK
        word = person_number(person) * self._factors[0] + content * self._factors[1] & _MASK
        word = (word ^ word >> 30) * _FIRST & _MASK
        word = (word ^ word >> 27) * _SECOND & _MASK
        return word ^ word >> 31

    def contents(self, codes: Sequence[Column], rows: int) -> NDArray[Any]:
        """The content of many rows, from their columns of codes, in a type as narrow as the declaration allows."""
        packed = [self._packed(word, codes, rows) for word in self._words]
        if len(packed) < 2:
            return packed[0] if packed else np.zeros(rows, dtype=np.uint16)
        content = np.zeros(rows, dtype=np.uint64)
        scratch = np.empty_like(content)
        for word, factor in zip(packed, self._factors[1:], strict=True):
            _mix(content, 32, _FIRST, scratch)
            np.multiply(word, np.uint64(factor), out=scratch, dtype=np.uint64)
            content += scratch
        return content

    @property
    def is_packed(self) -> bool:
        """Whether contents hold all codes of a row, so that these can be had back."""
        return len(self._words) == 1

    def codes(self, contents: NDArray[Any], column: int) -> NDArray[Any]:
        shift = next(shift for place, shift in self._words[0] if place == column)
        kind, width = contents.dtype.type, self._widths[column]
        own = contents >> kind(shift)
        own &= kind(2**width - 1)
        own -= kind(1)
        codes: NDArray[Any] = own.view(f"i{own.dtype.itemsize}")
        return codes

    def _packed(self, word: list[tuple[int, int]], codes: Sequence[Column], rows: int) -> NDArray[Any]:
        last, shift = word[-1]
        width = shift + self._widths[last]
        kind = next(np.dtype(f"u{size}") for size in (2, 4, 8) if width <= 8 * size)
        packed = np.zeros(rows, dtype=kind)
        looked_up = []
        for column, shift in word:
            own = codes[column]
            if isinstance(own, Factored):
                looked_up.append((_shifted(own.codes, kind, shift), own.places))
            else:
                packed += _shifted(own, kind, shift)
        for values, places in _together(looked_up):
            _add_looked_up(packed, values, places)
        return packed

    def of_rows(self, persons: Words, contents: NDArray[Any]) -> Words:
        """The hashes of many rows, from the numbers of their persons and their contents."""
        hashes = persons * np.uint64(self._factors[0])
        scratch = contents.astype(np.uint64)
        scratch *= np.uint64(self._factors[1])
        hashes += scratch
        _mix(hashes, 30, _FIRST, scratch)
        _mix(hashes, 27, _SECOND, scratch)
        np.right_shift(hashes, np.uint64(31), out=scratch)
        hashes ^= scratch
        return hashes


def _shifted(codes: NDArray[Any], kind: np.dtype[Any], shift: int) -> NDArray[Any]:
    """Codes and one more at their place in a word; negative ones are numbers modulo a power of two like the others."""
    shifted: NDArray[Any] = codes.astype(f"i{kind.itemsize}").view(kind) + kind.type(1)
    shifted <<= kind.type(shift)
    return shifted


def _together(columns: list[tuple[NDArray[Any], NDArray[Any]]]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Values and places of columns, few-valued ones combined into one: a lookup takes longer than a sum."""
    joined: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for values, places in columns:
        if not joined or len(joined[-1][0]) * len(values) > _MOST_COMBINATIONS:
            joined.append((values, places))
            continue
        before, earlier = joined.pop()
        combined = places.astype(np.uint16, copy=False) * np.uint16(len(before))
        combined += earlier.astype(np.uint16, copy=False)
        joined.append(((values[:, None] + before[None, :]).ravel(), combined))
    return joined


def _add_looked_up(words: NDArray[Any], values: NDArray[Any], places: NDArray[Any]) -> None:
    """Add to each word the value at its place, a stretch at a time: places are widened before they are looked up."""
    for start in range(0, len(words), _STRETCH):
        part = slice(start, start + _STRETCH)
        words[part] += np.take(values, places[part], mode="wrap")


def person_number(person: str) -> int:
    """What stands for a person in the hash, modulo 2^64."""
    digits = person.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) <= 18 and str(int(person)) == person:
        return int(person) & _MASK
    return person_word(person.encode("utf-8", "surrogateescape"))


def numbers_of_digits(numbers: NDArray[Any]) -> Words:
    """The same for whole numbers: themselves, but for those of more than 18 digits."""
    words = numbers.astype(np.int64, copy=False).view(np.uint64)
    if len(words) and not -_LARGEST_NUMBER < numbers.min() <= numbers.max() < _LARGEST_NUMBER:
        is_long = (numbers <= -_LARGEST_NUMBER) | (numbers >= _LARGEST_NUMBER)
        words = words.copy()
        words[is_long] = digit_words(numbers[is_long])
    return words


def numbers_of_texts(texts: Any) -> Words:
    import pyarrow as pa
    import pyarrow.compute as pc

    words = text_words(texts)
    is_number = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")
    numbers = as_numpy(texts.filter(is_number).cast(pa.int64()))
    words[as_numpy(is_number)] = numbers.view(np.uint64)
    return words


def _mix(words: Words, shift: int, factor: int, scratch: Words) -> None:
    """Exclusive or with itself shifted, then a multiplication; in place."""
    np.right_shift(words, np.uint64(shift), out=scratch)
    words ^= scratch
    words *= np.uint64(factor)


def _odd(secret: bytes, place: int) -> int:
    key = blake2b(secret).digest()
    content = place.to_bytes(4, "little")
    return int.from_bytes(blake2b(content, key=key, digest_size=8, person=b"dalenius-rows-3").digest()) | 1


def _width(variable: Variable) -> int:
    """Bits for a code and one more; codes of categories run from -1, which stands for a dropped value."""
    return 64 if variable.is_numeric else len(variable.categories).bit_length()


def _layout(widths: Sequence[int]) -> list[list[tuple[int, int]]]:
    words: list[list[tuple[int, int]]] = []
    used = 64
    for place, width in enumerate(widths):
        if used + width > 64:
            words.append([])
            used = 0
        words[-1].append((place, used))
        used += width
    return words
