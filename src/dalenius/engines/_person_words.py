"""The word that stands for a person's text in the hash of a row: the sum of (byte + 1) * factor^place, modulo 2^64."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_FACTOR = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_DIGITS = 4
_LIMBS = 5


def person_word(name: bytes) -> int:
    word, power = 0, 1
    for byte in name:
        word, power = word + (byte + 1) * power & _MASK, power * _FACTOR & _MASK
    return word


def text_words(persons: Any) -> Words:
    """The words of many persons at once; powers of the factor run on over all texts and are divided out at the end."""
    import pyarrow as pa

    texts = persons.cast(pa.large_string())
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return _words(content, ends)


def _words(content: Any, ends: NDArray[np.int64]) -> Words:
    """The words of the stretches of bytes between the ends."""
    words = np.zeros(len(ends) - 1, dtype=np.uint64)
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


def digit_words(numbers: NDArray[Any]) -> Words:
    """The words of the digits of whole numbers, four digits at a time."""
    plain, padded, lengths = _tables()
    powers = _powers(_FACTOR, _DIGITS * _LIMBS + 1)
    signed = numbers.astype(np.int64, copy=False)
    is_negative = signed < 0
    rest = np.where(is_negative, np.uint64(0) - signed.view(np.uint64), signed.view(np.uint64))
    limbs = []
    for _ in range(_LIMBS):
        high = rest // np.uint64(10**_DIGITS)
        limbs.append((rest - high * np.uint64(10**_DIGITS)).view(np.int64))
        rest = high
    # Leading zeros are no digits: until a limb is not zero the number starts anew.
    words, places = plain[limbs[-1]], lengths[limbs[-1]]
    has_begun = limbs[-1] > 0
    for limb in limbs[-2::-1]:
        words = np.where(has_begun, words + powers[places] * padded[limb], plain[limb])
        places = np.where(has_begun, places + _DIGITS, lengths[limb])
        has_begun |= limb > 0
    minus = np.uint64(ord("-") + 1)
    signed_words: Words = np.where(is_negative, minus + np.uint64(_FACTOR) * words, words)
    return signed_words


@cache
def _tables() -> tuple[Words, Words, NDArray[np.int64]]:
    """For each limb the word of its digits, the word with zeros in front, and how many digits it has."""
    texts = [str(limb) for limb in range(10**_DIGITS)]
    padded = [text.zfill(_DIGITS) for text in texts]
    lengths = np.array([len(text) for text in texts])
    # Arrow's way from a list of texts would import pandas.
    ends = np.append(0, np.cumsum(lengths))
    whole = _words("".join(padded).encode(), np.arange(len(texts) + 1) * _DIGITS)
    return _words("".join(texts).encode(), ends), whole, lengths
