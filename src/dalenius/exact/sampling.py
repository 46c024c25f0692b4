"""The one exact sampler that every integer law uses.

A uniform U in [0, 1) is read bit by bit from the random source, and the answer is the smallest k with F(k) > U.
Three stages read as few bits as they need (docs/explanation/exact-sampling.md): a guide by a short first word, a table
of 64-bit thresholds, and refinement of U and F together until they separate.

Every comparison is between integers that enclose the true numbers, so the law is exactly the stated one. The work
depends on the noise alone, never on data. A law that is too wide for a table states `exact_sampler()`, built from
the pieces in `dalenius.exact.wide_sampling`; it is just as exact.
"""

from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dalenius.core.integer_law import DrawnLaw
from dalenius.core.law import IntArray
from dalenius.core.randomness import RandomSource, words
from dalenius.errors import InternalError, ParameterError, TooLarge

LARGEST_TABLE = 1 << 21
LARGEST_VALUE = 1 << 62
CHUNK = 1 << 16
_MOST_BITS = 1 << 16
_UNDECIDED = np.iinfo(np.int64).min


@runtime_checkable
class ExactSampler(Protocol):
    def draw(self, size: int, rng: RandomSource) -> IntArray:
        """So many independent draws."""


@runtime_checkable
class WideLaw(Protocol):
    """A law whose table would be too large states its own exact sampler, or None to use the table."""

    def exact_sampler(self) -> ExactSampler | None:
        """A sampler of exactly this law."""


def sample(law: DrawnLaw, size: int, rng: RandomSource) -> IntArray:
    """Independent draws from exactly the stated law, as signed 64-bit integers.

    A law that could leave the 64-bit range is refused before anything is drawn.
    """
    if size < 0:
        raise ParameterError(f"The number of draws must not be negative; received {size}.", size=size)
    return sampler_of(law).draw(size, rng)


@lru_cache(maxsize=128)
def sampler_of(law: DrawnLaw) -> ExactSampler:
    if isinstance(law, WideLaw):
        wide = law.exact_sampler()
        if wide is not None:
            return wide
    return TableSampler(law)


class Thresholds:
    """Certified enclosures of 2**precision * F(k) over the values k of a table.

    `first` is the smallest value; `low[i] <= 2**precision * F(first + i) < high[i] + 1`, both integers. `is_final`
    says that the last value of the table is the last of the support, so that F is 1 there.
    """

    first: int
    high: list[int]
    is_final: bool
    is_initial: bool
    low: list[int]

    def __init__(self, law: DrawnLaw, precision: int, bits: int) -> None:
        table = law.weights(bits)
        if len(table.lower) > LARGEST_TABLE:
            raise TooLarge(
                f"The law {law.name} would need a table of {len(table.lower)} entries; at most {LARGEST_TABLE} are "
                "served."
            )
        if max(abs(table.first), abs(table.last)) > LARGEST_VALUE:
            raise TooLarge(f"The law {law.name} would leave the range of 64-bit integers.")
        least = list(accumulate(table.lower))
        most = list(accumulate(table.upper, initial=table.left))[1:]
        total_low, total_high = least[-1], most[-1] + table.right
        self.first = table.first
        self.is_initial = law.support[0] is not None and table.first <= law.support[0]
        self.is_final = law.support[1] is not None and table.last >= law.support[1]
        # F = below / (below + above) grows in the weight below and falls in the weight above.
        pairs = list(zip(least, most, strict=True))
        if not self.is_initial:
            # The value just below the table: what lies up to there is only bounded from above.
            self.first -= 1
            pairs.insert(0, (0, table.left))
        self.low = [(a << precision) // (a + total_high - b) for a, b in pairs]
        # F stays below 1 wherever the support goes on.
        top = 1 << precision if self.is_final else (1 << precision) - 1
        self.high = _cut([(b << precision) // (b + total_low - a) for a, b in pairs], top)

    def bracket(self, word: int) -> tuple[int, int]:
        """Smallest and largest value that a uniform starting with this word may stand for."""
        # The value is the first k with F(k) > U: surely past k if word > high, surely reached if word < low.
        least = bisect_left(self.high, word)
        most = bisect_right(self.low, word)
        return self.first + least, self.first + most


def _cut(numbers: list[int], top: int) -> list[int]:
    """Rising numbers, none above the top."""
    within = bisect_right(numbers, top)
    return numbers[:within] + [top] * (len(numbers) - within)


class TableSampler:
    """Inversion by table; `guide_bits` and the word types are smaller in tests, which enumerate every path.

    first_type   type of the first word, of which the leading `guide_bits` bits are used
    next_type    type of the second word, which fills U up to `precision` bits
    deep_bits    bits added at a time where the table cannot decide
    """

    def __init__(
        self,
        law: DrawnLaw,
        *,
        first_type: type[np.unsignedinteger[Any]] = np.uint16,
        guide_bits: int = 16,
        next_type: type[np.unsignedinteger[Any]] = np.uint64,
        precision: int = 64,
        deep_bits: int = 64,
        largest: int = LARGEST_VALUE,
    ) -> None:
        self.law = law
        self._largest = largest
        self._finer: dict[int, Thresholds] = {}
        self._first_type, self._next_type = first_type, next_type
        self._guide_bits, self._precision, self._deep_bits = guide_bits, precision, deep_bits
        self._spare = np.dtype(first_type).itemsize * 8 - guide_bits
        self._next_spare = np.dtype(next_type).itemsize * 8 - (precision - guide_bits)
        whole = precision + 64
        # Every floor is made certain; a law with dyadic F may never get there, and stays enclosed. Half the spare bits
        # are nearly always enough, and thresholds that are certain are the same for any number of them.
        for bits in (precision + 32, whole, 2 * whole, 4 * whole):
            thresholds = Thresholds(law, precision, bits)
            if thresholds.low == thresholds.high:
                break
        low, high, first = thresholds.low, thresholds.high, thresholds.first
        # Thresholds that no word can reach are dropped, one kept on each side that still hides other values.
        start = max(bisect_right(high, 0) - 1, 0)
        top = (1 << precision) - 1
        stop = min(bisect_left(low, top) + 1, len(low) - 1 if thresholds.is_final else len(low))
        if not (thresholds.is_initial or high[start] == 0) or not (thresholds.is_final or low[stop - 1] >= top):
            raise InternalError("The weights of a law leave too much outside their table.", law=law.name)
        self._first = first + start
        self._low = np.array(_cut(low[start:stop], top), dtype=np.uint64)
        self._high = np.array(_cut(high[start:stop], top), dtype=np.uint64)
        self._drawn = 0

    def _guided(self, first: NDArray[np.unsignedinteger[Any]]) -> tuple[IntArray, IntArray]:
        """For first words: the value where they decide it, and how many thresholds they are surely past."""
        shift = self._precision - self._guide_bits
        begin = first.astype(np.uint64) << np.uint64(shift)
        end = begin + np.uint64((1 << shift) - 1)
        least = np.searchsorted(self._high, begin, side="left").astype(np.int64)
        most = np.searchsorted(self._low, end, side="right")
        return np.where(least == most, self._first + least, _UNDECIDED), least

    @cached_property
    def _guide(self) -> tuple[IntArray, IntArray]:
        """The same for every first word; made when so many are drawn that it pays."""
        return self._guided(np.arange(1 << self._guide_bits, dtype=np.uint64))

    def draw(self, size: int, rng: RandomSource) -> IntArray:
        out = np.empty(size, dtype=np.int64)
        pending: list[tuple[IntArray, NDArray[np.unsignedinteger[Any]], IntArray]] = []
        self._drawn += size
        is_guided = 4 * self._drawn >= 1 << self._guide_bits
        for start in range(0, size, CHUNK):
            part = out[start : start + CHUNK]
            first = words(rng, len(part), self._first_type)
            if self._spare:
                first = first >> first.dtype.type(self._spare)
            if is_guided:
                np.take(self._guide[0], first, out=part, mode="clip")
                least = self._guide[1]
            else:
                part[:], least = self._guided(first)
            undecided = np.flatnonzero(part == _UNDECIDED)
            if len(undecided):
                words_left = first[undecided]
                pending.append((undecided + start, words_left, least[words_left if is_guided else undecided]))
        if pending:
            where, rest, least = (np.concatenate(parts) for parts in zip(*pending, strict=True))
            out[where] = self._second(rest, least, rng)
        return out

    @property
    def guide(self) -> IntArray:
        """The value that each first word decides, or the least number where it decides none."""
        return self._guide[0]

    def extend(self, first: NDArray[np.unsignedinteger[Any]], rng: RandomSource) -> IntArray:
        """Draws whose first words, as uniform as their caller's condition left them, were read already."""
        out: IntArray = self._guide[0][first]
        undecided = np.flatnonzero(out == _UNDECIDED)
        if len(undecided):
            words_left = first[undecided]
            out[undecided] = self._second(words_left, self._guide[1][words_left], rng)
        return out

    def _second(self, first: NDArray[np.unsignedinteger[Any]], least: IntArray, rng: RandomSource) -> IntArray:
        """Fill U up to the precision of the table and compare."""
        more = words(rng, len(first), self._next_type).astype(np.uint64) >> np.uint64(self._next_spare)
        word = (first.astype(np.uint64) << np.uint64(self._precision - self._guide_bits)) | more
        index = least
        if len(self._high):
            # Nearly always the guide's first candidate, or the next, is it; the rest is searched for.
            for _ in range(2):
                past = self._high[np.minimum(index, len(self._high) - 1)] < word
                index = index + (past & (index < len(self._high)))
            left = np.flatnonzero(past)
            index[left] = np.searchsorted(self._high, word[left], side="left")
        out = self._first + index
        inside = np.flatnonzero(index < len(self._low))
        for i in inside[self._low[index[inside]] <= word[inside]]:
            out[i] = self._deep(int(word[i]), rng)
        return out

    def _deep(self, word: int, rng: RandomSource) -> int:
        """Refine U and F together until one value is left."""
        bits_read, bits = self._precision, self._precision + 64
        while bits <= _MOST_BITS:
            if bits_read not in self._finer:
                self._finer[bits_read] = Thresholds(self.law, bits_read, bits)
            least, most = self._finer[bits_read].bracket(word)
            if least == most:
                return max(-self._largest, min(self._largest, least))
            word = (word << self._deep_bits) | int.from_bytes(rng.bytes(self._deep_bits // 8), "big")
            bits_read, bits = bits_read + self._deep_bits, bits + max(self._deep_bits, 64)
        raise InternalError("A draw could not be decided; the weights of the law do not narrow.", law=self.law.name)
