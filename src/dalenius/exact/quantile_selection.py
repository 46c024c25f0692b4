"""Exact selection of a quantile by the exponential mechanism with integer weights.

Candidates are all grid points y in [low, high]; with q = a/b and n values the score of y is the integer
s(y) = max(0, b #{x < y} - a n, a n - b #{x <= y}), so that an atom at the answer scores 0. The weight of y is w[s(y)]
from a list with w[s] / w[s + 1] <= 1 / base for every s: log w is as Lipschitz as -s log(1/base), the ratio of any
two outputs' odds moves by at most base ** (-2 * change of s), and the draw is one uniform integer below the sum of
weights. No floating point, no tables per data set.
"""

from collections.abc import Iterator
from fractions import Fraction

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


def groups(values: IntArray, low: int, high: int, q: Fraction) -> Iterator[tuple[int, int, int]]:
    """(first, last, score) of maximal runs of grid points with the same counts below and up to them."""
    n, a, b = len(values), q.numerator, q.denominator
    unique, counts = np.unique(np.clip(values, low, high), return_counts=True)
    before, position = 0, low
    for point, count in zip(unique.tolist(), counts.tolist(), strict=True):
        if position < point:
            yield position, point - 1, max(0, b * before - a * n, a * n - b * before)
        yield point, point, max(0, b * before - a * n, a * n - b * (before + count))
        before += count
        position = point + 1
    if position <= high:
        yield position, high, max(0, b * before - a * n, a * n - b * before)


def select(values: IntArray, low: int, high: int, q: Fraction, w: tuple[int, ...], rng: RandomSource) -> int:
    """One grid point, drawn with probability proportional to its weight."""
    last = len(w) - 1
    runs = [(first, end, w[min(s, last)]) for first, end, s in groups(values, low, high, q)]
    total = sum((end - first + 1) * weight for first, end, weight in runs)
    draw = below(rng, total)
    for first, end, weight in runs:
        mass = (end - first + 1) * weight
        if draw < mass:
            return first + draw // weight
        draw -= mass
    raise AssertionError("the draw is below the total")


def probabilities(values: IntArray, low: int, high: int, q: Fraction, w: tuple[int, ...]) -> list[Fraction]:
    """Exact output probabilities of every grid point; for checks on small domains."""
    last = len(w) - 1
    weights = [0] * (high - low + 1)
    for first, end, s in groups(values, low, high, q):
        for y in range(first, end + 1):
            weights[y - low] = w[min(s, last)]
    total = sum(weights)
    return [Fraction(x, total) for x in weights]
