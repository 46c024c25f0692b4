"""Exact selection of a quantile by the exponential mechanism with integer weights.

Candidates are all grid points y in [low, high]; with q = a/b and n values the score of y is the integer
s(y) = max(0, b #{x < y} - a n, a n - b #{x <= y}), so that an atom at the answer scores 0. The weight of y is w[s(y)]
from a list with w[s] / w[s + 1] <= 1 / base for every s: log w is as Lipschitz as -s log(1/base), the ratio of any
two outputs' odds moves by at most base ** (-2 * change of s), and the draw is one uniform integer below the sum of
weights. No floating point, no tables per data set.
"""

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.randomness import RandomSource, below
from dalenius.errors import ParameterError
from dalenius.exact.order_statistics import rational_base, reaching_weights

_FAR_BITS = 40
# Beyond this rate one record away from the quantile weighs less than exp(-30), and more epsilon buys nothing.
_LEAST_RATE, _LARGEST_RATE = Fraction(1, 5000), Fraction(60)


def score_change(q: Fraction, *, is_replace: bool, rows: int) -> Fraction:
    """How far a unit's rows move every score, in units of q's denominator: b max(q, 1-q), or b under replace."""
    each = Fraction(1) if is_replace else max(q, 1 - q)
    return each * q.denominator * rows


def check_rate(epsilon: Fraction, change: Fraction) -> None:
    """Refuse, before anything is charged, an epsilon for which there are no weights."""
    if epsilon / change < _LEAST_RATE:
        raise ParameterError(
            "epsilon is too small for a quantile with so fine a q; use a q such as 1/2, 1/4 or 0.95.",
            name="epsilon",
        )
    if epsilon / change > _LARGEST_RATE:
        raise ParameterError(
            f"epsilon is larger than a quantile can use: {float(_LARGEST_RATE * change / epsilon):.3g} times as much gives the"
            " same answer. Ask for less.",
            name="epsilon",
        )


def score_weights(epsilon: Fraction, change: Fraction, low: int, high: int) -> tuple[int, ...]:
    """Weights by score, flat from where all candidates together no longer matter."""
    base = rational_base(epsilon / (2 * change))
    return reaching_weights(base, max(high - low, 1) << _FAR_BITS, 1)


Runs = tuple[IntArray, IntArray, IntArray]


def score_runs(ordered: IntArray, low: int, high: int, parts: int, rank: int) -> Runs:
    """(first, last, score) of maximal runs of grid points with the same counts below and up to them.

    Values are sorted, and scores are distances from a rank in parts of a record. The runs follow each other without a gap.
    """
    ends = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    counts = np.concatenate([[0], ends, [len(ordered)]]) if len(ordered) else np.zeros(1, dtype=np.int64)
    # A gap before the first value, a value, a gap, …, and a gap after the last: every value is a run of one point.
    twice = np.repeat(ordered[counts[1:] - 1], 2)
    firsts, lasts = np.concatenate([[low], twice]), np.concatenate([twice, [high]])
    firsts[2::2] += 1
    lasts[:-1:2] -= 1
    around = parts * np.repeat(counts, 2) - rank
    scores = np.maximum(0, np.maximum(around[:-1], -around[1:]))
    keep = (firsts <= lasts) & (firsts >= low) & (lasts <= high)
    return firsts[keep], lasts[keep], scores[keep]


def drawn_point(runs: Runs, w: tuple[int, ...], rng: RandomSource) -> int:
    """One grid point of the runs, with probability proportional to the weight of its score.

    Scores fall to the rank and rise beyond it, and all from the last weight on weigh the same: only the runs near the rank are gone
    through one by one.
    """
    firsts, lasts, scores = runs
    far, last = w[-1], len(w) - 1
    near = np.flatnonzero(scores < last)
    start, stop = (int(near[0]), int(near[-1]) + 1) if len(near) else (0, 0)
    places = np.minimum(scores[start:stop], last).tolist()
    sizes = (lasts[start:stop] - firsts[start:stop] + 1).tolist()
    least, most = int(firsts[0]), int(lasts[-1])
    left = int(firsts[start]) - least
    right = most - int(lasts[stop - 1]) if stop else most - least + 1
    sums = list(
        accumulate((size * w[place] for size, place in zip(sizes, places, strict=True)), initial=left * far)
    )
    draw = below(rng, sums[-1] + right * far)
    if draw < sums[0]:
        return int(least + draw // far)
    if draw >= sums[-1]:
        return int(most - right + 1 + (draw - sums[-1]) // far)
    index = bisect_right(sums, draw) - 1
    return int(firsts[start + index] + (draw - sums[index]) // w[places[index]])


def _runs(values: IntArray, low: int, high: int, q: Fraction) -> Runs:
    cut = np.clip(values, low, high)
    ordered = cut if bool(np.all(cut[1:] >= cut[:-1])) else np.sort(cut)
    return score_runs(ordered, low, high, q.denominator, q.numerator * len(ordered))


def select(values: IntArray, low: int, high: int, q: Fraction, w: tuple[int, ...], rng: RandomSource) -> int:
    """One grid point, drawn with probability proportional to its weight."""
    return drawn_point(_runs(values, low, high, q), w, rng)


def probabilities(values: IntArray, low: int, high: int, q: Fraction, w: tuple[int, ...]) -> list[Fraction]:
    """Exact output probabilities of every grid point; for checks on small domains."""
    last = len(w) - 1
    weights = [0] * (high - low + 1)
    runs = (part.tolist() for part in _runs(np.asarray(values, dtype=np.int64), low, high, q))
    for first, end, s in zip(*runs, strict=True):
        for y in range(first, end + 1):
            weights[y - low] = w[min(s, last)]
    total = sum(weights)
    return [Fraction(x, total) for x in weights]
