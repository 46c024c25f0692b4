"""Privacy of noisy totals over bootstrap samples together, (epsilon, delta) and rho, and the noise for a target.

Guarantee
    With Poisson(1) multiplicities that are drawn anew for each replicate and never shown, discrete Gaussian noise in
    each total, and values of at most `reach` in size, the replicates together satisfy delta(epsilon) of the composed
    loss distribution, and are concentrated with the rho that this distribution has outside an event of probability
    delta.

    relation     where           dominating pairs, P_u the sum of Poisson(1)(k) N(k u, s2)
    add-remove   one cell        (P_D, N) and its reverse: the rest of the total is independent of both
    replace      one cell        (P_D, P_-D), where `replaced_pair` proves it: D <= s
    replace      several cells   also (P_D x N, N x P_D): the unit leaves one cell and enters another
    either       several rows    multiplicities counted as published, every way to spread rows (`resampled_loss`)

    Sums that are measured once beside the replicates (the number of rows, squares) have independent noise of their own:
    their pairs, shifts of discrete Gaussian noise by the most that the rows of a unit add, stand beside those of the
    replicates.
Requires
    Multinomial multiplicities are not covered: their sum is fixed, so that centring hides
    nothing (docs/explanation/private-bootstrap.md). There is no exact rho: every Renyi divergence is infinite.
Evidence
    Proved but for the rounding of floats, which is covered by margins; never below the mixture-Gaussian loss of
    dp-accounting, tests/exact/test_resampling_price.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from math import exp, inf, log, sqrt

import numpy as np

from dalenius import limits
from dalenius.core.law import FloatArray
from dalenius.core.sensitivity import partitions
from dalenius.errors import TooLarge, Unsupported
from dalenius.exact.approximate_concentrated import rho_of
from dalenius.exact.loss import LossDistribution
from dalenius.exact.replaced_pair import is_dominated
from dalenius.exact.resampled_loss import (
    ONE_COPY,
    LossPair,
    MixturePair,
    PublishedPair,
    copies_loss,
    grid_unit,
    poisson_weights,
)

_STEPS = 30
_NEAR = 5e-4
_ROUGH = 0.02
_STRIDE = 2.0
_STRIDES = 24
_HOPELESS = 5.0
_TRIMMED = 1e-19
_RAISED = Fraction(1001, 1000)
_TOO_MANY = (
    f"At this rho and delta at most {limits.REPLICATES} replicates are priced; more need a smaller rho or a "
    "larger delta."
)
_MOST_RAISES = 60
# Rows that neighbours differ in: so many can be spread over cells in few enough ways, and so many in one cell have few
# enough sums.
_MOST_SPREAD, _MOST_TOUCHED = 6, 24


# A pair, and how many independent copies of it there are.
Copies = tuple[LossPair, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A sum that is measured once: the most that one row adds, and its share of the squared difference."""

    largest: int
    share: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ResamplingPrice:
    """Replicates of totals: a unit has up to `rows` rows that add at most `reach` steps times their multiplicity.

    `beside` are sums over the rows themselves, each measured once.
    """

    reach: int
    sigma_squared: Fraction
    replicates: int
    is_replace: bool = False
    has_cells: bool = False
    rows: int = 1
    beside: tuple[Beside, ...] = ()

    @property
    def variances(self) -> tuple[Fraction, ...]:
        """Noise variances of the sums beside the replicates: one row moves each by its share of the difference."""
        left = 1 - sum((one.share for one in self.beside), Fraction(0))
        moved = Fraction(self.replicates * self.reach**2) / self.sigma_squared
        return tuple(_short(one.largest**2 * left / (one.share * moved)) for one in self.beside)

    def _sums(self, rows: int) -> tuple[Copies, ...]:
        """The sums beside the replicates, in a cell that loses or gains so many rows."""
        moved = [(Fraction(rows * one.largest), v) for one, v in zip(self.beside, self.variances, strict=True)]
        none = Fraction(0)
        return tuple((MixturePair(up=up, down=none, sigma_squared=v, weights=ONE_COPY), 1) for up, v in moved)

    def _pair(self, up: int, down: int) -> MixturePair:
        noise, weights = self.sigma_squared, poisson_weights()
        return MixturePair(up=Fraction(up), down=Fraction(down), sigma_squared=noise, weights=weights)

    def _published(self, rows: int) -> PublishedPair:
        return PublishedPair(reach=Fraction(self.reach), sigma_squared=self.sigma_squared, rows=rows)

    @property
    def is_proved(self) -> bool:
        """Whether the pairs are known to be the worst; only then is anything claimed."""
        if self.rows > 1 or not self.is_replace:
            return True
        return is_dominated(Fraction(self.reach), self.sigma_squared)

    @property
    def touched(self) -> int:
        """Rows that differ between two neighbours: those of one unit, or of two."""
        return self.rows * (2 if self.is_replace else 1)

    @property
    def is_served(self) -> bool:
        """Whether all ways to spread a unit's rows over cells can be looked at."""
        return self.rows == 1 or self.touched <= (_MOST_SPREAD if self.has_cells else _MOST_TOUCHED)

    def patterns(self) -> tuple[tuple[Copies, ...], ...]:
        """The dominating pairs, each a product of what happens in the cells that a unit touches."""
        many = self.replicates
        if self.rows > 1:
            spread = partitions(self.touched) if self.has_cells else [(self.touched,)]
            return tuple(
                tuple(copies for rows in parts for copies in ((self._published(rows), many), *self._sums(rows)))
                for parts in spread
            )
        added, removed = self._pair(self.reach, 0), self._pair(0, -self.reach)
        sums = self._sums(1)
        if not self.is_replace:
            return ((added, many), *sums), ((removed, many), *sums)
        moved = (((added, many), (removed, many), *sums, *sums),) if self.has_cells else ()
        return (((self._pair(self.reach, -self.reach), many), *sums), *moved)

    def losses(self) -> tuple[LossDistribution, ...]:
        """One composed loss distribution for each pattern of change; together they dominate both orders."""
        if not self.is_proved:
            raise Unsupported(
                "The noise of one replicate is smaller than half of the range of a value; the price of replacing a "
                "unit is proved for more noise only. Ask for more replicates or spend less."
            )
        whole = _losses(self)
        limits.spend(sum(len(loss.masses) for loss in whole))
        return whole

    def delta(self, epsilon: Fraction) -> Fraction:
        return max(loss.delta(epsilon) for loss in self.losses())

    def rho(self, delta: Fraction) -> tuple[Fraction, Fraction]:
        """(rho, delta'): what the master account is charged, both orders of the neighbours."""
        return _rho(self, delta)

    def fits(self, *, epsilon: Fraction | None, rho: Fraction | None, delta: Fraction) -> bool:
        if not self.is_proved:
            return False
        if rho is not None:
            try:
                charged, failure = self.rho(delta)
            except TooLarge:
                return False
            return charged <= rho and failure <= delta
        assert epsilon is not None
        return self.delta(epsilon) <= delta


@lru_cache(maxsize=16)
def _losses(price: ResamplingPrice) -> tuple[LossDistribution, ...]:
    return tuple(_composed(pattern) for pattern in price.patterns())


def _composed(pattern: tuple[Copies, ...]) -> LossDistribution:
    unit = min(grid_unit(pair, copies) for pair, copies in pattern)
    whole, *others = (copies_loss(pair, copies, unit) for pair, copies in pattern)
    for other in others:
        whole = whole.beside(other)
    return whole


@lru_cache(maxsize=128)
def _rho(price: ResamplingPrice, delta: Fraction) -> tuple[Fraction, Fraction]:
    # One order is enough: the concentrated statement of a pair is about both.
    losses = price.losses() if price.is_replace or price.rows > 1 else price.losses()[:1]
    # What rounding adds to the failure is taken from it beforehand.
    pairs = [rho_of(loss, delta * (1 - Fraction(1, 10**6))) for loss in losses]
    return max(rho for rho, _ in pairs), max(delta, *(failure for _, failure in pairs))


@lru_cache(maxsize=128)
def calibrated(
    price: ResamplingPrice, *, epsilon: Fraction | None, rho: Fraction | None, delta: Fraction
) -> ResamplingPrice:
    """The least noise, to about a thousandth of its variance, whose replicates stay within the target.

    Judged by the loss distribution itself; where less noise has no rho at this delta, to about a fiftieth.
    """

    @cache
    def excess(log_variance: float) -> float:
        """How far the target is missed, as a logarithm: by floats, which suggest and never decide."""
        # Several rows that are all in one cell are the worst, which is checked at the end and not trusted here.
        has_cells = price.has_cells and price.rows == 1
        tried = replace(price, sigma_squared=_short(Fraction(exp(log_variance))), has_cells=has_cells)
        if rho is not None:
            try:
                return log(max(tried.rho(delta)[0] / rho, Fraction(1, 10**9)))
            except TooLarge:
                if price.replicates > limits.REPLICATES:
                    # The least noise that has a rho is looked for in many steps, each as long as there are replicates.
                    raise TooLarge(_TOO_MANY, received=price.replicates, limit=limits.REPLICATES) from None
                return _HOPELESS
        # The first pattern is nearly always the worst.
        return log(max(_float_delta(tried.patterns()[0], float(epsilon or 0)), 1e-300) / float(delta))

    # One unit's value is never more than two standard deviations of one replicate's noise.
    is_bounded = price.is_replace and price.rows == 1
    low = max(2 * log(price.reach) - (0.0 if is_bounded else log(4.0)), log(0.25))
    if rho is None:
        # Far below the guess losses reach so far that their lists are long; nothing is looked for there unless it must
        # be.
        start = max(low, _guess(price, _rho_for(float(epsilon or 0), float(delta))) - 1.0)
        variance = _crossing(excess, start if excess(start) > 0 else low)
    else:
        variance = _near(excess, low, _guess(price, float(rho)))
    least = Fraction(price.reach) ** 2 if is_bounded else Fraction(1, 4)
    best = replace(price, sigma_squared=_short(max(variance, least)))
    for _ in range(_MOST_RAISES):
        if best.fits(epsilon=epsilon, rho=rho, delta=delta):
            return best
        best = replace(best, sigma_squared=_short(best.sigma_squared * _RAISED))
    raise Unsupported(
        "No noise on this grid makes these replicates fit the budget; ask for more replicates, or spend more."
    )


def _short(variance: Fraction) -> Fraction:
    """A little larger, with a short numerator."""
    power = max(variance.numerator.bit_length() - variance.denominator.bit_length() - 12, -8)
    grid = Fraction(2) ** power
    return -(-variance // grid) * grid


def _rho_for(epsilon: float, delta: float) -> float:
    """The rho from which (epsilon, delta) would follow."""
    tail = log(1 / delta)
    return (epsilon / (sqrt(epsilon + tail) + sqrt(tail))) ** 2


def _guess(price: ResamplingPrice, rho: float) -> float:
    """The logarithm of the variance if rho were that of normal noise, which it is where noise is large."""
    moved = price.touched**2 if price.rows == 1 else price.touched + price.touched**2
    return log(price.replicates * moved) + 2 * log(price.reach) - log(2 * rho)


def _near(excess: Callable[[float], float], low: float, at: float) -> Fraction:
    """As `_crossing`, in few steps where rho falls as the variance rises; roughly where less noise has no rho."""
    below, enough, tolerance = -inf, inf, _NEAR
    for _ in range(_STRIDES):
        at = max(at, low)
        missed = excess(at)
        if -2 * _NEAR < missed <= 0 or (missed < 0 and at == low):
            return Fraction(exp(at))
        below, enough = (max(below, at), enough) if missed > 0 else (below, min(enough, at))
        if missed > 0:
            tolerance = _ROUGH if missed >= _HOPELESS else _NEAR
        if enough - below < tolerance:
            return Fraction(exp(enough))
        at += 1.0 if missed >= _HOPELESS else missed + _NEAR
        at = at if below < at < enough else (below + enough) / 2
    return _crossing(excess, low)


def _crossing(excess: Callable[[float], float], low: float) -> Fraction:
    """The variance at whose logarithm a falling function is about zero; the smallest one where it is not above zero."""
    at_low = excess(low)
    if at_low <= 0:
        return Fraction(exp(low))
    high, at_high = low, at_low
    while at_high > 0:
        low, at_low = high, at_high
        high += _STRIDE
        at_high = excess(high)
    for _ in range(_STEPS):
        middle = low + (high - low) * at_low / (at_low - at_high)
        at = excess(middle)
        if abs(at) < _NEAR or high - low < _NEAR:
            return Fraction(exp(middle))
        # The end that stays is given half of its weight, so that both ends move.
        if at > 0:
            low, at_low, at_high = middle, at, at_high / 2
        else:
            high, at_high, at_low = middle, at, at_low / 2
    return Fraction(exp(high))


def _float_delta(pattern: tuple[Copies, ...], epsilon: float) -> float:
    unit = min(grid_unit(pair, copies) for pair, copies in pattern)
    first, masses, infinite = 0, np.ones(1), 0.0
    for pair, copies in pattern:
        start, one, left_out = pair.masses(unit)
        begin, power = _powered(start, one, copies)
        first, masses = _trimmed(first + begin, _convolved(masses, power))
        infinite += copies * left_out
    losses = (first + np.arange(len(masses))) * float(unit)
    is_above = losses > epsilon
    return infinite - float((masses[is_above] * np.expm1(epsilon - losses[is_above])).sum())


def _powered(first: int, masses: FloatArray, count: int) -> tuple[int, FloatArray]:
    if count == 1:
        return first, masses
    begin, half = _powered(first, masses, count // 2)
    begin, whole = _trimmed(2 * begin, _convolved(half, half))
    return _trimmed(begin + first, _convolved(whole, masses)) if count % 2 else (begin, whole)


def _convolved(left: FloatArray, right: FloatArray) -> FloatArray:
    from scipy.signal import fftconvolve

    return np.maximum(fftconvolve(left, right), 0.0)


def _trimmed(first: int, masses: FloatArray) -> tuple[int, FloatArray]:
    keep = np.flatnonzero(masses > _TRIMMED)
    low, high = (int(keep[0]), int(keep[-1]) + 1) if len(keep) else (0, 1)
    return first + low, masses[low:high]
