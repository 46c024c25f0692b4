"""Exact selection of a quantile by the exponential mechanism with integer weights.

Candidates are all grid points y in [low, high]; with q = a/b and n values the score of y is the integer
s(y) = max(0, b #{x < y} - a n, a n - b #{x <= y}), so that an atom at the answer scores 0. The weight of y is w[s(y)]
from a list with w[s] / w[s + 1] <= 1 / base for every s: log w is as Lipschitz as -s log(1/base), the ratio of any
two outputs' odds moves by at most base ** (-2 * change of s), and the draw is one uniform integer below the sum of
weights. No floating point, no tables per data set.

Where records count by weights, # sums weights, and a score is divided by a public grain and rounded down: what moves
by c moves by at most ceil(c / grain) then, row by row.

By depth the score is not cut at 0: s(y) = max(-D, b #{x < y} - a n, a n - b #{x <= y}). Its two parts are the same
counts, each of which a row that is added or removed moves by a or by b - a, and a row that is replaced by at most b; a
maximum of functions that move by at most c moves by at most c, so both scores have one sensitivity. Only an atom with
the rank strictly inside it scores below 0, and there is at most one: every other score is the same, so its odds against
every other point only grow, and among the others no odds change. D is public: from there on all other points together
weigh less than 2^-40 of it, and more depth would show nowhere.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import IntArray
from dalenius.core.randomness import RandomSource, below
from dalenius.errors import ParameterError
from dalenius.exact.order_statistics import rational_base, reaching_weights

_FAR_BITS = 40
_LIMB_BITS = 16
# Sums of digits stay inside 64 bits below this.
_SAFE = 2**62
# Counts and scores are 64-bit numbers below this, and Python integers beyond.
_HELD = 2**62
# Beyond this rate one record away from the quantile weighs less than exp(-30), and more epsilon buys nothing.
_LEAST_RATE, _LARGEST_RATE = Fraction(1, 5000), Fraction(60)
# Lists of weights at small rates are long, up to 140 megabytes each: whoever asks with many an epsilon must not fill
# the memory.
_RATE_OF_MANY, _RATE_OF_SOME = Fraction(1, 100), Fraction(1, 1000)


class Score(StrEnum):
    """What a grid point is judged by: its distance from the quantile, or also how deep inside it the quantile lies."""

    DISTANCE = "distance"
    DEPTH = "depth"


def check_rate(epsilon: Fraction, change: Fraction) -> None:
    """Refuse, before anything is charged, an epsilon for which there are no weights."""
    if epsilon / change < _LEAST_RATE:
        raise ParameterError(
            "epsilon is too small for this quantile. Use a larger epsilon, or a q of fewer digits (1/2, 0.95).",
            name="epsilon",
        )
    if epsilon / change > _LARGEST_RATE:
        raise ParameterError(
            f"epsilon is larger than a quantile can use: {float(_LARGEST_RATE * change / epsilon):.3g} times as much "
            "gives the same answer. Ask for less.",
            name="epsilon",
        )


class Weights(tuple[int, ...]):
    """Whole weights by score, with their binary digits in columns, lowest first, for sums over many runs at once.

    The first weight is that of the score -`depth`.
    """

    depth: int = 0

    @cached_property
    def limbs(self) -> NDArray[np.uint16]:
        """A row of digits of `_LIMB_BITS` bits for each weight."""
        count = -(-max(self).bit_length() // 8 // (_LIMB_BITS // 8)) + 1
        size = count * _LIMB_BITS // 8
        content = b"".join(weight.to_bytes(size, "little") for weight in self)
        return np.frombuffer(content, dtype="<u2").reshape(len(self), count)


def score_weights(epsilon: Fraction, change: Fraction, low: int, high: int, score: Score = Score.DISTANCE) -> Weights:
    """Weights by score, flat from where all candidates together (by depth: also a single one) cease to matter."""
    rate = epsilon / change
    cache = _many if rate >= _RATE_OF_MANY else _some if rate >= _RATE_OF_SOME else _few
    return cache(epsilon, change, low, high, score)


def _score_weights(epsilon: Fraction, change: Fraction, low: int, high: int, score: Score) -> Weights:
    base = rational_base(epsilon / (2 * change))
    span = max(high - low, 1) << _FAR_BITS
    from_zero = reaching_weights(base, span)
    if score is Score.DISTANCE:
        return Weights(from_zero)
    deeper = [from_zero[0]]
    while deeper[-1] < span * from_zero[0]:
        # Rounded down, so that no two neighbours have a ratio above 1 / base.
        deeper.append(deeper[-1] * base.denominator // base.numerator)
    weights = Weights((*reversed(deeper[1:]), *from_zero))
    weights.depth = len(deeper) - 1
    return weights


_many, _some, _few = (lru_cache(maxsize=most)(_score_weights) for most in (128, 16, 4))


Runs = tuple[IntArray, IntArray, IntArray]


@dataclass(frozen=True, slots=True)
class Records:
    """Values in rising order; where records count by weights, `before` is what all before each place count together."""

    values: IntArray
    before: IntArray | None = None

    @classmethod
    def of(cls, values: IntArray, weights: IntArray | None = None) -> "Records":
        """Put values in order; nearly sorted lists, as most are, take little time."""
        if weights is None:
            return cls(values if bool(np.all(values[1:] >= values[:-1])) else np.sort(values, kind="stable"))
        order = np.argsort(values, kind="stable")
        counted = weights[order]
        if len(counted) * int(counted.max(initial=0)) >= _HELD:
            counted = counted.astype(object)
        return cls(values[order], np.concatenate([counted[:0], [0], np.cumsum(counted)]))

    @property
    def total(self) -> int:
        return len(self.values) if self.before is None else int(self.before[-1] - self.before[0])

    def counts(self, places: IntArray) -> IntArray:
        return places if self.before is None else self.before[places] - self.before[0]

    def window(self, first: int, last: int) -> tuple[int, int]:
        """Places of the first record that is not before a count, and of the last that is not after another one."""
        if self.before is None:
            return min(max(first, 0), len(self.values)), min(max(last, 0), len(self.values))
        first, last = (min(max(count, -1), self.total + 1) for count in (first, last))
        start = int(np.searchsorted(self.before, self.before[0] + first, side="right")) - 1
        return max(start, 0), min(int(np.searchsorted(self.before, self.before[0] + last)), len(self.values))

    def between(self, first: int, last: int) -> "Records":
        return Records(self.values[first:last], None if self.before is None else self.before[first : last + 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Which rank is aimed at, in `parts` of a record, and how scores are written: from -depth on, in whole grains."""

    parts: int
    rank: int
    depth: int = 0
    grain: int = 1


def score_runs(records: Records, low: int, high: int, aim: Aim, reach: int | None = None) -> Runs:
    """(first, last, score + depth) of maximal runs of grid points with the same counts below and up to them.

    Scores are distances from a rank in parts of a record, or how deep inside an atom it lies, up to the depth, below
    zero. The runs follow each other without a gap. With `reach`, runs whose last entries are at least so large may be
    put together, at entries that are not smaller than it.
    """
    if reach is not None:
        return _near_runs(records, low, high, aim, reach)
    ordered = records.values
    ends = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    places = np.concatenate([[0], ends, [len(ordered)]]) if len(ordered) else np.zeros(1, dtype=np.int64)
    # A gap before the first value, a value, a gap, …, and a gap after the last: every value is a run of one point.
    twice = np.repeat(ordered[places[1:] - 1], 2)
    firsts, lasts = np.concatenate([[low], twice]), np.concatenate([twice, [high]])
    firsts[2::2] += 1
    lasts[:-1:2] -= 1
    counts = np.repeat(records.counts(places), 2)
    if aim.parts * records.total + abs(aim.rank) >= _HELD:
        # Sums of weights that 64 bits do not hold would move scores by any amount.
        counts = counts.astype(object)
    around = aim.parts * counts - aim.rank
    scores = np.maximum(-aim.depth, np.maximum(around[:-1], -around[1:]) // aim.grain)
    scores = np.minimum(scores, _HELD).astype(np.int64)
    keep = (firsts <= lasts) & (firsts >= low) & (lasts <= high)
    return firsts[keep], lasts[keep], scores[keep] + aim.depth


def _near_runs(records: Records, low: int, high: int, aim: Aim, reach: int) -> Runs:
    """Runs of the values within reach of the rank, and one run on either side for all that is farther away."""
    ordered, count = records.values, len(records.values)
    width, middle = (reach - aim.depth) * aim.grain // aim.parts + 2, aim.rank // aim.parts
    first, last = records.window(middle - width, middle + width)
    if first:
        # A value is in the window with all records that share it.
        first = int(np.searchsorted(ordered, ordered[first], side="left")) if first < count else first
    if last < count:
        last = int(np.searchsorted(ordered, ordered[last - 1], side="right")) if last else 0
    if first >= last:
        return score_runs(records, low, high, aim)
    begins = low if not first else int(ordered[first - 1]) + 1
    stops = high if last == count else int(ordered[last]) - 1
    before = int(records.counts(np.array([first]))[0])
    inside = replace(aim, rank=aim.rank - aim.parts * before)
    parted = [score_runs(records.between(first, last), begins, stops, inside)]
    if begins > low:
        parted.insert(0, (np.array([low]), np.array([begins - 1]), np.array([reach])))
    if stops < high:
        parted.append((np.array([stops + 1]), np.array([high]), np.array([reach])))
    firsts, lasts, scores = (np.concatenate(each) for each in zip(*parted, strict=True))
    return firsts, lasts, scores


class _Sums(Sequence[int]):
    """Running sums of size * weight over runs, as Python integers that are made when they are asked for."""

    def __init__(self, first: int, sizes: IntArray, limbs: NDArray[np.uint16]) -> None:
        self._first = first
        self._digits = np.cumsum(sizes[:, None] * limbs, axis=0)

    def __len__(self) -> int:
        return len(self._digits) + 1

    def __getitem__(self, place: int) -> int:  # type: ignore[override]
        if not 0 <= place < len(self):
            raise IndexError(place)
        if not place:
            return self._first
        total = 0
        for digit in reversed(self._digits[place - 1].tolist()):
            total = (total << _LIMB_BITS) + digit
        return self._first + total


def _sums(first: int, sizes: IntArray, places: IntArray, w: tuple[int, ...]) -> Sequence[int]:
    """first, and what it is after each run; in digits where these are known and cannot overflow."""
    if isinstance(w, Weights) and len(sizes) and int(sizes.max()) * len(sizes) < _SAFE >> _LIMB_BITS:
        return _Sums(first, sizes, w.limbs[places])
    pairs = zip(sizes.tolist(), places.tolist(), strict=True)
    return list(accumulate((size * w[place] for size, place in pairs), initial=first))


def drawn_point(runs: Runs, w: tuple[int, ...], rng: RandomSource) -> int:
    """One grid point of the runs, with probability proportional to the weight of its score.

    Scores fall to the rank and rise beyond it, and all from the last weight on weigh the same: only the runs near the
    rank are gone through one by one.
    """
    firsts, lasts, scores = runs
    far, last = w[-1], len(w) - 1
    near = np.flatnonzero(scores < last)
    start, stop = (int(near[0]), int(near[-1]) + 1) if len(near) else (0, 0)
    places = np.minimum(scores[start:stop], last)
    sizes = lasts[start:stop] - firsts[start:stop] + 1
    least, most = int(firsts[0]), int(lasts[-1])
    left = int(firsts[start]) - least
    right = most - int(lasts[stop - 1]) if stop else most - least + 1
    sums = _sums(left * far, sizes, places, w)
    total = sums[len(sums) - 1]
    draw = below(rng, total + right * far)
    if draw < left * far:
        return int(least + draw // far)
    if draw >= total:
        return int(most - right + 1 + (draw - total) // far)
    index = bisect_right(sums, draw) - 1
    return int(firsts[start + index] + (draw - sums[index]) // w[places[index]])
