"""What rows add to sums, in arrays of 64-bit words, and how sums of the words become answers.

A number that may reach 2^31 is kept in two halves of 32 bits, one that may reach 2^62 in limbs of 30 bits: all words
but the last are not negative, and the last one has the sign. Each word is summed by itself, and 2^31 rows cannot bring
a sum out of 64 bits. Halving and clamping come after all rows, so that neither batches nor groups show in an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.query import LIMIT, Power, Ranges, TableQuery

_HALF, _LIMB = 32, 30


@dataclass(frozen=True, slots=True)
class Width:
    words: int
    bits: int

    @classmethod
    def of(cls, largest: int) -> "Width":
        """For sums of numbers up to this size; limbs have a word more, which whole sums of a database may need."""
        if largest < LIMIT:
            return cls(1 if largest < 2 ** (_HALF - 1) else 2, _HALF)
        return cls(_limbs(largest) + 1, _LIMB)

    def parts(self, number: int) -> list[int]:
        low = [(number >> self.bits * place) & ((1 << self.bits) - 1) for place in range(self.words - 1)]
        return [*low, number >> self.bits * (self.words - 1)]


def row_words(query: TableQuery, ranges: Ranges, columns: Mapping[str, IntArray], width: Width) -> list[Any]:
    """The words of the row function less the shift, of rows that have all of its variables; a scalar for a constant."""
    function = query.function
    words: list[Any] = [] if function.multiple == 1 else [np.int64(function.multiple)]
    size = abs(function.multiple)
    for power in function.powers:
        base = _base(power, columns[power.variable])
        reach = max(1, *(abs(power.base(end)) for end in ranges[power.variable]))
        for _ in range(power.exponent):
            if size * reach < LIMIT:
                words = [words[0] * base] if words else [base]
            else:
                own = words if len(words) > 1 else _split(words[0], size)
                words = _product(own, _split(base, reach), size * reach)
            size *= reach
    words = words or [np.int64(1)]
    if width.bits == _LIMB:
        limbs = width.words - 1
        shifts = Width(limbs, _LIMB).parts(query.shift)
        words = _carried(words if len(words) > 1 else _split(words[0], size), limbs)
        return _carried([word - part for word, part in zip(words, shifts, strict=True)], limbs)
    value = words[0] - query.shift if query.shift else words[0]
    return [value] if width.words == 1 else [value & ((1 << _HALF) - 1), value >> _HALF]


def joined(words: Sequence[IntArray], width: Width, halvings: int) -> IntArray:
    """floor((sum + c / 2) / c) with c = 2**halvings, from the sums of all words; clamped as every answer."""
    if width.words == 1 and not halvings:
        return words[0]
    bits, mask = width.bits, (1 << width.bits) - 1
    first, rest = divmod(halvings, bits)
    words = [word.copy() for word in words]
    words += [np.zeros_like(words[0]) for _ in range(first + 1 - len(words))]
    if halvings:
        words[(halvings - 1) // bits] += 1 << (halvings - 1) % bits
    for place in range(len(words) - 1):
        words[place + 1] += words[place] >> bits
        words[place] &= mask
    # What is below the first word that counts is not negative, and so the floor leaves it out. The sum wraps around
    # where the answer is beyond the clamp, which its size in floating point tells.
    total, size = words[first] >> rest, words[first] * 2.0**-rest
    for place, word in enumerate(words[first + 1 :], start=1):
        shift = bits * place - rest
        size = size + word * 2.0**shift
        if shift < 64:
            total = total + (word << shift)
    beyond = np.where(size < 0, -LIMIT, LIMIT)
    return np.where(np.abs(size) < 1.5 * LIMIT, np.clip(total, -LIMIT, LIMIT), beyond).astype(np.int64)


def _base(power: Power, steps: IntArray) -> IntArray:
    steps = steps if power.cut is None else np.clip(steps, *power.cut)
    steps = steps if power.slope == 1 else steps * power.slope
    offset = power.offset + (1 << power.halvings) // 2
    steps = steps + offset if offset else steps
    return steps >> power.halvings if power.halvings else steps


def _limbs(largest: int) -> int:
    return max(1, -(-largest.bit_length() // _LIMB))


def _split(values: Any, largest: int) -> list[Any]:
    """Numbers up to this size in limbs."""
    last = _limbs(largest) - 1
    low = [(values >> _LIMB * place) & ((1 << _LIMB) - 1) for place in range(last)]
    return [*low, values >> _LIMB * last]


def _product(left: list[Any], right: list[Any], largest: int) -> list[Any]:
    """Limbs of products: at most three of 60 bits meet in a word before they are carried."""
    words: list[Any] = [0] * (len(left) + len(right) - 1)
    for i, own in enumerate(left):
        for j, other in enumerate(right):
            words[i + j] = words[i + j] + own * other
    return _carried(words, _limbs(largest))


def _carried(words: list[Any], count: int) -> list[Any]:
    """The same numbers in so many limbs, which hold them."""
    words = [*words, *[np.int64(0)] * (count - len(words))]
    for place in range(len(words) - 1):
        words[place + 1] = words[place + 1] + (words[place] >> _LIMB)
        words[place] = words[place] & ((1 << _LIMB) - 1)
    while len(words) > count:
        top = words.pop()
        words[-1] = words[-1] + (top << _LIMB)
    return words
