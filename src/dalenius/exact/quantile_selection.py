"""Exact selection of a quantile by the exponential mechanism with integer weights.

Candidates are all grid points y in [low, high]; with q = a/b and n values the score of y is the integer
s(y) = max(0, b #{x < y} - a n, a n - b #{x <= y}), so that an atom at the answer scores 0. The weight of y is w[s(y)]
from a list with w[s] / w[s + 1] <= 1 / base for every s: log w is as Lipschitz as -s log(1/base), the ratio of any
two outputs' odds moves by at most base ** (-2 * change of s), and the draw is one uniform integer below the sum of
weights. No floating point, no tables per data set.

By depth the score is not cut at 0: s(y) = max(-D, b #{x < y} - a n, a n - b #{x <= y}). Its two parts are the same
counts, each of which a row that is added or removed moves by a or by b - a, and a row that is replaced by at most b; a
maximum of functions that move by at most c moves by at most c, so both scores have one sensitivity. Only an atom with
the rank strictly inside it scores below 0, and there is at most one: every other score is the same, so its odds against
every other point only grow, and among the others no odds change. D is public: from there on all other points together
weigh less than 2^-40 of it, and more depth would show nowhere.
"""

from bisect import bisect_right
from collections.abc import Sequence
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
# Beyond this rate one record away from the quantile weighs less than exp(-30), and more epsilon buys nothing.
_LEAST_RATE, _LARGEST_RATE = Fraction(1, 5000), Fraction(60)
# Lists of weights at small rates are long, up to 140 megabytes each: whoever asks with many an epsilon must not fill
# the memory.
_RATE_OF_MANY, _RATE_OF_SOME = Fraction(1, 100), Fraction(1, 1000)


class Score(StrEnum):
    """What a grid point is judged by: its distance from the quantile, or also how deep inside it the quantile lies."""

    DISTANCE = "distance"
    DEPTH = "depth"


def score_change(q: Fraction, *, is_replace: bool, rows: int) -> Fraction:
    """How far a unit's rows move every score, in units of q's denominator: b max(q, 1-q), or b under replace."""
    each = Fraction(1) if is_replace else max(q, 1 - q)
    return each * q.denominator * rows


def check_rate(epsilon: Fraction, change: Fraction) -> None:
    """Refuse, before anything is charged, an epsilon for which there are no weights."""
    if epsilon / change < _LEAST_RATE:
        raise ParameterError(
            "epsilon is too small for a quantile with so fine a q; use a q such as 1/2, 1/4 or 0.95.", name="epsilon"
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
    from_zero = reaching_weights(base, span, 1)
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


def score_runs(
    ordered: IntArray, low: int, high: int, parts: int, rank: int, reach: int | None = None, depth: int = 0
) -> Runs:
    """(first, last, score + depth) of maximal runs of grid points with the same counts below and up to them.

    Values are sorted, and scores are distances from a rank in parts of a record, or how deep inside an atom it lies, up
    to `depth`, below zero. The runs follow each other without a gap. With `reach`, runs whose last entries are at least
    so large may be put together, at entries that are not smaller than it.
    """
    if reach is not None:
        return _near_runs(ordered, low, high, parts, rank, reach, depth)
    ends = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    counts = np.concatenate([[0], ends, [len(ordered)]]) if len(ordered) else np.zeros(1, dtype=np.int64)
    # A gap before the first value, a value, a gap, …, and a gap after the last: every value is a run of one point.
    twice = np.repeat(ordered[counts[1:] - 1], 2)
    firsts, lasts = np.concatenate([[low], twice]), np.concatenate([twice, [high]])
    firsts[2::2] += 1
    lasts[:-1:2] -= 1
    around = parts * np.repeat(counts, 2) - rank
    scores = np.maximum(-depth, np.maximum(around[:-1], -around[1:]))
    keep = (firsts <= lasts) & (firsts >= low) & (lasts <= high)
    return firsts[keep], lasts[keep], scores[keep] + depth


def _near_runs(ordered: IntArray, low: int, high: int, parts: int, rank: int, reach: int, depth: int) -> Runs:
    """Runs of the values within reach of the rank, and one run on either side for all that is farther away."""
    width = (reach - depth) // parts + 2
    first, last = (min(max(rank // parts + way, 0), len(ordered)) for way in (-width, width))
    if first:
        # A value is in the window with all records that share it.
        first = int(np.searchsorted(ordered, ordered[first], side="left")) if first < len(ordered) else first
    if last < len(ordered):
        last = int(np.searchsorted(ordered, ordered[last - 1], side="right")) if last else 0
    if first >= last:
        return score_runs(ordered, low, high, parts, rank, depth=depth)
    begins = low if not first else int(ordered[first - 1]) + 1
    stops = high if last == len(ordered) else int(ordered[last]) - 1
    runs = score_runs(ordered[first:last], begins, stops, parts, rank - parts * first, depth=depth)
    parted = [runs]
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


def _runs(values: IntArray, low: int, high: int, q: Fraction, w: tuple[int, ...], reach: int | None = None) -> Runs:
    cut = np.clip(values, low, high)
    ordered = cut if bool(np.all(cut[1:] >= cut[:-1])) else np.sort(cut)
    depth = w.depth if isinstance(w, Weights) else 0
    return score_runs(ordered, low, high, q.denominator, q.numerator * len(ordered), reach, depth)


def select(values: IntArray, low: int, high: int, q: Fraction, w: tuple[int, ...], rng: RandomSource) -> int:
    """One grid point, drawn with probability proportional to its weight."""
    return drawn_point(_runs(values, low, high, q, w, len(w) - 1), w, rng)


def counted_weights(counts: Sequence[int], q: Fraction, w: tuple[int, ...]) -> list[int]:
    """Weight of each of few ordered candidates, from numbers of records at each; q is their share up to the answer."""
    last, total = len(w) - 1, sum(counts)
    upto = list(accumulate(counts))
    scores = (
        max(0, q.denominator * (up - count) - q.numerator * total, q.numerator * total - q.denominator * up)
        for up, count in zip(upto, counts, strict=True)
    )
    return [w[min(score, last)] for score in scores]


def select_counted(counts: Sequence[int], q: Fraction, w: tuple[int, ...], rng: RandomSource) -> int:
    """The place of one candidate, drawn with probability proportional to its weight."""
    sums = list(accumulate(counted_weights(counts, q, w)))
    return bisect_right(sums, below(rng, sums[-1]))


def probabilities(values: IntArray, low: int, high: int, q: Fraction, w: tuple[int, ...]) -> list[Fraction]:
    """Exact output probabilities of every grid point; for checks on small domains."""
    last = len(w) - 1
    weights = [0] * (high - low + 1)
    runs = (part.tolist() for part in _runs(np.asarray(values, dtype=np.int64), low, high, q, w))
    for first, end, s in zip(*runs, strict=True):
        for y in range(first, end + 1):
            weights[y - low] = w[min(s, last)]
    total = sum(weights)
    return [Fraction(x, total) for x in weights]
