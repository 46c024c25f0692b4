"""Order statistics of sorted integers within declared bounds, and how far they can move.

Values x_1 <= ... <= x_n lie in [low, high]; by convention x_i = low for i < 1 and x_i = high for i > n. Everything is
exact: smooth sensitivities use integer weights w_0 > w_1 >= ... with w_{k+1} = ceil(w_k * base), base a rational
below 1. Because w_k / w_{k+1} <= 1 / base for every k, the weighted maximum is smooth with beta = -log(base), exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.rationals import exp_lower, log_upper
from dalenius.core.search import smallest
from dalenius.errors import ParameterError, Unsupported

_WEIGHT_BITS = 192
_DENSE = 3000
_LEAST_RATE_BITS = 20
_MOST_REACH = 20_000


@dataclass(frozen=True, slots=True)
class Sorted:
    """Sorted integers with the padding convention; positions count from 1."""

    values: IntArray
    low: int
    high: int

    def __len__(self) -> int:
        return len(self.values)

    def at(self, position: int) -> int:
        if position < 1:
            return self.low
        return self.high if position > len(self.values) else int(self.values[position - 1])

    def window(self, first: int, last: int) -> IntArray:
        """x_first, ..., x_last, with pads."""
        n = len(self.values)
        inside = self.values[max(first, 1) - 1 : max(min(last, n), 0)]
        before = max(0, min(last, 0) - first + 1)
        after = max(0, last - max(first, n + 1) + 1)
        low, high = (np.full(count, end, dtype=np.int64) for count, end in ((before, self.low), (after, self.high)))
        return np.concatenate((low, np.asarray(inside, dtype=np.int64), high))

    def ends_replaced(self, count: int = 1) -> "tuple[Sorted, Sorted]":
        """The highest and the lowest data set that so many replacements can make, element by element."""
        highest, lowest = (self.window(1 + moved, len(self) + moved) for moved in (count, -count))
        return Sorted(highest, self.low, self.high), Sorted(lowest, self.low, self.high)

    def ends_added_removed(self) -> "tuple[Sorted, ...]":
        """With high added, low added, the smallest removed, the largest removed."""
        n = len(self)
        added = (self.window(1, n + 1), self.window(0, n))
        removed = (self.window(2, n), self.window(1, n - 1)) if n else ()
        return tuple(Sorted(w, self.low, self.high) for w in (*added, *removed))


def prepare(values: Sequence[int] | IntArray, low: int, high: int) -> Sorted:
    array = np.clip(np.asarray(values, dtype=np.int64), low, high)
    if len(array) > 1 and not bool(np.all(array[:-1] <= array[1:])):
        array = np.sort(array)
    return Sorted(array, low, high)


def index_rule(q: Fraction, n: int) -> int:
    """Position of the q-quantile of n values: the smallest with at least q n values up to it; 0 if n is 0.

    >>> [index_rule(Fraction(1, 2), n) for n in range(6)]
    [0, 1, 1, 2, 2, 3]
    """
    return ceil(q * n)


def local_of_monotone(data: Sorted, function: Callable[[Sorted], int], *, is_replace: bool, group: int = 1) -> int:
    """Local sensitivity of a function that never falls when a value rises, to up to `group` records.

    Replacing any records by any values gives a data set between the two of `ends_replaced`; adding or removing any
    record gives one between the two of its kind. A monotone function is therefore extreme at those.
    """
    if group > 1 and not is_replace:
        raise Unsupported("Groups are served under replace.")
    if is_replace and not len(data):
        return 0
    others = data.ends_replaced(group) if is_replace else data.ends_added_removed()
    here = function(data)
    return max(abs(function(other) - here) for other in others)


def records_before(data: Sorted, position: int, bound: int) -> int:
    """How many records can change before one more could move x_position by more than the bound; at most n + 1.

    The least k for which some x_{position + t} - x_{position + t - k - 1}, 0 <= t <= k + 1, is larger than the bound.
    Under replace this is exact: so far the k + 1 records can move it. A record that is added, removed or replaced
    changes it by at most one, because it moves every value by at most one place and the position by at most one; and
    where it is positive no record that is added, removed or replaced moves the answer by more than the bound.
    """

    def is_wide(k: int) -> bool:
        around = data.window(position - k - 1, position + k + 1)
        return bool((around[k + 1 :] - around[: k + 2]).max() > bound)

    return smallest(is_wide, -1, len(data) + 1)


@lru_cache(maxsize=4)
def weights(base: Fraction, count: int) -> tuple[int, ...]:
    """Integer weights w_0 >= ... >= w_count whose neighbouring ratio is at most 1 / base."""
    current, above, below = 1 << _WEIGHT_BITS, base.numerator, base.denominator
    result = [current]
    for _ in range(count):
        current = -(-current * above // below)
        result.append(current)
    return tuple(result)


@lru_cache(maxsize=4)
def reaching_weights(base: Fraction, span: int) -> tuple[int, ...]:
    """Weights up to the first distance from which a change of `span` counts for no more than one step; public."""
    if span <= 1:
        return weights(base, 0)
    rate = -log_upper(base)
    if rate <= 0 or rate < Fraction(1, 1 << _LEAST_RATE_BITS):
        raise ParameterError("The smoothness beta is too small; use at least 0.00001.", name="beta")
    w = list(weights(base, floor(log_upper(Fraction(span)) / rate) + 2))
    while w[-1] * span > w[0]:
        w.append(-(-w[-1] * base.numerator // base.denominator))
    return tuple(w)


@lru_cache(maxsize=64)
def rational_base(beta: Fraction) -> Fraction:
    """A rational base with -log(base) a little below beta: the excess over exp(-beta) is 2**-64 to 2**-63."""
    if not Fraction(1, 100_000) <= beta <= 30:
        raise ParameterError("The smoothness beta must lie between 0.00001 and 30.", name="beta")
    lower = exp_lower(-beta, 128)
    return Fraction((lower.numerator << 64) // lower.denominator + 2, 1 << 64)


def smooth_replace(data: Sorted, left: int, right: int, base: Fraction, spread: int = 1) -> Fraction:
    """max(1, max over i <= left, j >= right, j - i >= spread of (x_j - x_i) w_{j-i-spread} / w_0).

    left = right = m and spread = 1: the smooth sensitivity under replace of the m-th order statistic. left = h,
    right = h + 1, spread = 2: twice that of the mean of the two middle values of n = 2h. One step is a
    public floor; windows that cannot exceed it are not visited, so the work does not depend on the values.
    """
    w = reaching_weights(base, data.high - data.low)
    K = len(w) - 1
    best = w[0]
    if K > _DENSE:
        far = _divide_and_conquer(data, left, right, weights(base, 2 * K + 2 * spread), spread)
        return Fraction(max(best, far), w[0])
    origin = left - K - spread
    x = data.window(origin, right + K + spread)
    for k in range(K + 1):
        span = k + spread
        first, last = right - span, left
        if first <= last:
            a = x[first - origin : last - origin + 1]
            b = x[first + span - origin : last + span - origin + 1]
            best = max(best, int((b - a).max()) * w[k])
    return Fraction(best, w[0])


def _divide_and_conquer(data: Sorted, left: int, right: int, w: tuple[int, ...], spread: int) -> int:
    """The same maximum in O(K log K), rounded up by at most one part in 2**100.

    With weights base**k exactly, (x_j - x_i) base**k is log-supermodular in (i, j), so the best right end rises with
    the left end. Rounded weights differ by less than one part in 2**110 (their rate is bounded from below), and each
    level of the recursion can lose at most that factor; the last line gives it back. `rational_base` leaves more room
    than that between -log(base) and beta.
    """
    K = (len(w) - 1) // 2 - spread
    origin = left - K - spread
    x = data.window(origin, right + K + spread).tolist()
    best = 0
    stack = [(origin, left, right, right + K + spread)]
    while stack:
        a, b, least_end, most_end = stack.pop()
        if a > b:
            continue
        i = (a + b) // 2
        start = max(least_end, i + spread)
        here = x[i - origin]
        prices = [(x[j - origin] - here) * w[j - i - spread] for j in range(start, most_end + 1)]
        top = max(prices, default=-1)
        where = start + prices.index(top) if prices else most_end
        best = max(best, top)
        stack.append((a, i - 1, least_end, where))
        stack.append((i + 1, b, where, most_end))
    return best + (best >> 100) + 1


def smooth_add_remove(data: Sorted, m: int, base: Fraction) -> Fraction:
    """A smooth bound under add-remove for an index rule m(n) with 0 <= m(n+1) - m(n) <= 1.

    max(1, max_k w_k A_k / w_0) with A_k the widest window of k + 1 gaps x_{i+k+1} - x_i with i <= m + k + 1 and
    i + k + 1 >= m - k - 1: every local change is one gap next to the index, and one more added or removed record
    turns a window of size k into one of size k + 1 whose rank moved by at most one more.
    """
    w = reaching_weights(base, data.high - data.low)
    K = len(w) - 1
    if K > _MOST_REACH:
        raise ParameterError(
            "beta is too small for bounds so wide; take a larger beta or narrower bounds.", name="beta"
        )
    origin = m - 2 * K - 2
    x = data.window(origin, m + 2 * K + 2)
    best = w[0]
    for k in range(K + 1):
        first, last = m - 2 * k - 2, m + k + 1
        a = x[first - origin : last - origin + 1]
        b = x[first + k + 1 - origin : last + k + 1 - origin + 1]
        best = max(best, int((b - a).max()) * w[k])
    return Fraction(best, w[0])


Rule = Callable[[int], int]


def local_of_difference(data: Sorted, lower: Rule, upper: Rule, *, is_replace: bool) -> int:
    """Local sensitivity of x_upper(n) - x_lower(n), 0 for no values; lower(n) <= upper(n) are index rules.

    With one record taken out (rest z) and y put in, the order statistic a is y clamped to [z_{a-1}, z_a]: the answer is
    piecewise linear in y with breaks at z_{a-1}, z_a, z_{b-1}, z_b, and the record taken out matters only through
    its place relative to a and b. A dozen evaluations are therefore exact.
    """
    n = len(data)

    def answer(z: Sorted) -> int:
        return z.at(upper(len(z))) - z.at(lower(len(z))) if len(z) else 0

    here, most = answer(data), 0
    shorter = []
    if n:
        marks = {m + d for m in (lower(n), upper(n), lower(n - 1), upper(n - 1)) for d in (-1, 0, 1, 2)}
        places = sorted({min(max(p, 1), n) for p in marks | {1, n}})
        shorter = [Sorted(np.delete(data.values, p - 1), data.low, data.high) for p in places]
    if not is_replace:
        most = max((abs(answer(z) - here) for z in shorter), default=0)
    for z in shorter if is_replace else [data]:
        size = len(z) + 1
        for m in (lower(size), upper(size)):
            for y in (z.at(m - 1), z.at(m)):
                place = int(np.searchsorted(z.values, y))
                longer = Sorted(np.insert(z.values, place, y), data.low, data.high)
                most = max(most, abs(answer(longer) - here))
    return most
