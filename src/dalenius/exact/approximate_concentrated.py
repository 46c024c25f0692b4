"""The smallest rho of a delta-approximate zero-concentrated statement, from a loss distribution.

Definition (Bun & Steinke 2016, section 8). A pair of laws (P, Q) is delta-approximately rho-concentrated if there are
events E of P and E' of Q, each of probability at least 1 - delta, with D_a(P|E || Q|E') <= a rho and
D_a(Q|E' || P|E) <= a rho for every order a > 1.

Claim. `concentrated` returns (rho, delta') for which the pair behind a `Pair` satisfies the definition, in both
directions with one choice of events; delta' is the delta asked for, or the least probability that must be cut if that
is larger. So does every pair of which it is the dominating pair.

Proof. Let l be the loss, S the outputs with -M <= l <= L, and E = E' = S.
1. The events are large enough: the cut mass of P is at most the sum of the upper bounds of its cut masses, with what
   only P can give; Q(S) is at least the sum of exp(-l) p(l) over S, less what the bounds p overstate in all, times
   exp(M).
2. With t = a - 1, t D_a(P|S || Q|S) = k(t) = log sum_S p exp(t l) - (1 + t) log P(S) + t log Q(S). Each part is taken
   at the end of its enclosure that makes k larger. The other direction is the same with -l for l and P and Q swapped:
   its sum is that of p exp(-(1 + t) l).
3. k is convex and k(0) = 0. Hence k lies below its chords: between two orders of the grid D_a / a is at most
   (c + b t) / (t (1 + t)) with the chord c + b t, whose largest value has a closed form; below the first order t0 it is
   at most k(t0) / t0. A chord through upper bounds lies above the chord through the values.
4. D_a never exceeds the largest loss left, L + log Q(S) / P(S): the grid ends where this, divided by a, is no more than
   what was found.
5. Post-processing keeps the statement: if one channel maps (P, Q) to (P*, Q*), the channel's outputs given E and E'
   have no larger divergences, and E and E' keep their probabilities. A `LossDistribution` is a dominating pair of the
   step it stands for: a loss that was rounded up leaves part of Q's mass where P has none, and the channel that puts it
   back gives the step.

Rounding. Masses are integers over 2**BITS, cut by integers alone; rounded up. The sums of step 2 are floats, summed
without error by `math.fsum`, with exponentials taken to be right to eight units in the last place; each logarithm is
raised by more than these errors together (`_slack`). The result is rounded up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from itertools import accumulate
from math import fsum, log, log1p, sqrt

import numpy as np

from dalenius import limits
from dalenius.core.law import FloatArray
from dalenius.core.rationals import exp_enclosure, round_up
from dalenius.core.search import largest, smallest
from dalenius.errors import TooLarge
from dalenius.exact.loss import BITS, LossDistribution

ONE = 1 << BITS
# What a delta may grow by because of rounding; a pair that needs more is refused.
ROUNDING = Fraction(1, 1 << 60)
_FIRST = 2.0**-10
_STEP = 1.12
_MOST_ORDERS = 400
_ORDERS = tuple(accumulate(range(_MOST_ORDERS), lambda t, _: t * _STEP, initial=_FIRST))
_SPAN = 16
# An atom that enters the sums of all orders takes about so many times the work of one that is looked at.
_PER_ORDERS = 8
# Chords that rounding may have put in the wrong order are both looked at.
_TIE = 2.0**-30
_GRID = 10**15


@dataclass(frozen=True, slots=True)
class Pair:
    """Two laws on the same outputs, by rising loss, in units of 2**-BITS.

    losses   log P / Q of each output that both can give, right to a few units in the last place
    first    upper bounds of P's masses
    second   lower bounds of Q's masses, but for `excess`
    alone    upper bound of the mass of what only P can give
    excess   what the bounds of P's masses overstate, in all; `second` overstates as much times exp(-loss)
    """

    losses: FloatArray
    first: tuple[int, ...]
    second: tuple[int, ...]
    alone: int = 0
    excess: int = 0

    @classmethod
    def of_loss(cls, loss: LossDistribution) -> "Pair":
        """The dominating pair that a loss distribution stands for."""
        work = BITS + 64
        ratio = exp_enclosure(-loss.unit, work)[0]
        shrink = exp_enclosure(-loss.unit * loss.first, work)[0]
        second = []
        for mass in loss.masses:
            second.append(mass * shrink >> work)
            shrink = shrink * ratio >> work
        places = np.arange(loss.first, loss.first + len(loss.masses), dtype=np.float64)
        excess = max(sum(loss.masses) + loss.infinite - ONE, 0)
        return cls(places * float(loss.unit), loss.masses, tuple(second), loss.infinite, excess)

    @classmethod
    def of_rows(cls, p: Mapping[int, int], q: Mapping[int, int], scale: int) -> "Pair":
        """Two rows of integer weights over one denominator: exact."""
        shared = sorted((b for b in p if b in q), key=lambda b: Fraction(p[b], q[b]))
        return cls(
            np.array([_log_ratio(p[b], q[b]) for b in shared]),
            tuple(-(-p[b] * ONE // scale) for b in shared),
            tuple(q[b] * ONE // scale for b in shared),
            -(-sum(w for b, w in p.items() if b not in q) * ONE // scale),
            0,
        )


def _log_ratio(p: int, q: int) -> float:
    """log p / q to a few units in the last place, also near zero."""
    return log1p((p - q) / q) if abs(p - q) <= q // 2 else log(p / q)


def rho_of(loss: LossDistribution, delta: Fraction) -> tuple[Fraction, Fraction]:
    """(rho, delta') of the step behind a loss distribution, for both orders of the neighbours it was made for."""
    limits.spend(_PER_ORDERS * len(loss.masses))
    return _rho_of(loss, delta)


@lru_cache(maxsize=1024)
def _rho_of(loss: LossDistribution, delta: Fraction) -> tuple[Fraction, Fraction]:
    return concentrated(Pair.of_loss(loss), delta)


def concentrated(pair: Pair, delta: Fraction) -> tuple[Fraction, Fraction]:
    """(rho, delta'), delta' at least delta and larger by rounding at most; raises `TooLarge` if more must be cut."""
    asked = int(delta * ONE)
    cuts = _Cuts(pair)
    allowed = max(asked, *cuts.least)
    if allowed > asked + ROUNDING * ONE:
        raise TooLarge("This loss fails more often than delta, so there is no concentrated statement at it.")
    if allowed >= ONE:
        return Fraction(0), Fraction(1)
    # Where cutting does not pay, as for laws on a few values, the largest losses are left in.
    places = {cuts.kept(allowed), (cuts.first, cuts.places)}
    rho = min(_largest_ratio(pair, cuts, *kept) for kept in places)
    return rho, max(delta, Fraction(allowed, ONE))


class _Cuts:
    """What is lost of both laws when only the places low <= i < high are kept: upper bounds, in integers."""

    def __init__(self, pair: Pair) -> None:
        self._alone, self.places = pair.alone, len(pair.first)
        self._first = [0, *accumulate(pair.first)]
        self._second = [0, *accumulate(pair.second)]
        with np.errstate(over="ignore"):
            overstated = float(pair.excess) * np.exp(-pair.losses) * (1 + 2.0**-20)
        capped = np.minimum(overstated, 2.0 * ONE).tolist() if pair.excess else []
        self._over = [int(x) + 1 for x in capped] + [0] if pair.excess else [0] * (self.places + 1)
        # Rounding can leave nothing known about Q's smallest-loss places; they are the first to go.
        rest = ONE - self._second[-1]
        lost = [max(rest + a + b, 0) for a, b in zip(self._second, self._over, strict=True)]
        self.first = lost.index(min(lost))

    def of_first(self, low: int, high: int) -> int:
        return self._alone + self._first[low] + self._first[-1] - self._first[high]

    def of_second(self, low: int, high: int) -> int:
        return max(ONE - self._second[high] + self._second[low] + self._over[low], 0)

    @property
    def least(self) -> tuple[int, int]:
        """What is lost if no finite loss is cut."""
        return self.of_first(self.first, self.places), self.of_second(self.first, self.places)

    def kept(self, allowed: int) -> tuple[int, int]:
        """The places that are left when as many of the largest losses as allowed are cut, for both orders.

        Each end is first cut by itself; what the other end then takes is reserved before it is cut for good.
        """
        n, start = self.places, self.first
        low = largest(lambda i: max(self.of_first(i, n), self.of_second(i, n)) <= allowed, start, n + 1)
        high = smallest(lambda j: max(self.of_first(start, j), self.of_second(start, j)) <= allowed, start - 1, n)
        reserved = self._first[low] - self._first[start]
        taken = self._second[n] - self._second[high]
        end = smallest(lambda j: self.of_first(start, j) + reserved <= allowed, high - 1, n)
        return largest(lambda i: self.of_second(i, n) + taken <= allowed, start, low + 1), end


def _largest_ratio(pair: Pair, cuts: _Cuts, low: int, high: int) -> Fraction:
    """Upper bound of sup D_a / a over all orders and both directions, for the laws given the kept places."""
    kept = [i for i in range(low, high) if pair.first[i]]
    if not kept:
        return Fraction(0)
    loss = pair.losses[kept]
    mass = np.array([pair.first[i] / ONE for i in kept])
    least = [log1p(-cut(low, high) / ONE) for cut in (cuts.of_first, cuts.of_second)]
    most = [min(log(fsum(mass.tolist())), 0.0), min(log(fsum((mass * np.exp(-loss)).tolist())), 0.0)]

    def forward(t: float) -> float:
        return _log_mean(mass, t * loss) - (1 + t) * least[0] + t * most[1]

    def backward(t: float) -> float:
        return _log_mean(mass, -(1 + t) * loss) - (1 + t) * least[1] + t * most[0]

    ends = (float(loss.max()) - least[0] + most[1], float(-loss.min()) - least[1] + most[0])
    supremum = max(_supremum(*direction) for direction in zip((forward, backward), ends, strict=True))
    return round_up(Fraction(max(supremum, 0.0)) * (1 + Fraction(1, 1 << 40)), _GRID)


def _log_mean(mass: FloatArray, exponent: FloatArray) -> float:
    """log sum mass exp(exponent), raised by more than the errors of the floats."""
    top = float(exponent.max())
    total = fsum((mass * np.exp(exponent - top)).tolist())
    return top + log(total) + _slack(float(np.abs(exponent).max()))


def _slack(largest: float) -> float:
    """An exponent of size x is off by a few x ulps, its exponential by eight, the rest by fewer."""
    return (64 + 8 * largest) * 2.0**-53


def _supremum(k: Callable[[float], float], largest: float) -> float:
    """Upper bound of k(t) / (t (1 + t)) over t > 0, for a convex k with k(0) = 0 and k(t) <= t * largest.

    It is the largest value on the chords between neighbouring orders. The chord over several orders lies above theirs:
    where its largest value is no more than what was found elsewhere, the orders between are not looked at.
    """
    values = {0: k(_ORDERS[0])}
    supremum, last, spans = values[0] / _ORDERS[0], 0, list[tuple[float, int, int]]()

    def span(left: int, right: int) -> tuple[float, int, int]:
        for place in (left, right):
            if place not in values:
                values[place] = k(_ORDERS[place])
        chord = _on_chord(_ORDERS[left], values[left], _ORDERS[right], values[right])
        return -chord, left, right

    while last < _MOST_ORDERS and largest > supremum * (1 + _ORDERS[last]):
        heappush(spans, span(last, last + _SPAN))
        last += _SPAN
        supremum = max(supremum, values[last] / (_ORDERS[last] * (1 + _ORDERS[last])))
    if last == _MOST_ORDERS:
        supremum = max(supremum, largest / (1 + _ORDERS[last]))
    while spans and -spans[0][0] > supremum * (1 - _TIE):
        bound, left, right = heappop(spans)
        if right == left + 1:
            supremum = max(supremum, -bound)
            continue
        middle = (left + right) // 2
        heappush(spans, span(left, middle))
        heappush(spans, span(middle, right))
    return supremum


def _on_chord(left: float, at_left: float, right: float, at_right: float) -> float:
    """Largest (c + b t) / (t (1 + t)) on an interval, for the chord c + b t through its ends."""
    slope = (at_right - at_left) / (right - left)
    below = slope * left - at_left
    points = [left, right]
    if slope > 0 and below > 0:
        # The derivative vanishes where slope t^2 = below (1 + 2 t).
        points.append(min(max((below + sqrt(below * below + slope * below)) / slope, left), right))
    return max((slope * t - below) / (t * (1 + t)) for t in points)
