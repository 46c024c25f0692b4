"""Intervals of estimates from their sums, for two errors that are never mixed.

noise               the error of the released number for the finite population: privacy noise alone
noise and sampling  its error for the process behind the population: privacy noise and sampling

How they are made of quotients, of weighted rows and of units with several rows: docs/reference/estimators/index.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.dual import Dual
from dalenius.algebra.estimate_law import INFLUENCE
from dalenius.algebra.estimator import ROWS, Estimator, Quotient, Scale
from dalenius.algebra.influence import influences
from dalenius.algebra.sums import EXCESS, Form, ResampledInfluences, Sums
from dalenius.core.law import FloatArray

_LEAST_DEGREES = 2.0
# A variance whose standard error is a larger share of it is hardly known: this times z^2 standard errors is added to
# what was measured of it, and it is taken as no smaller than a fifth of one.
_HARDLY_KNOWN, _ADDED, _LEAST_PART = 0.6, 0.25, 0.2
# What is divided by must exceed so many standard errors of its noise, or nothing is said.
_SURE = 3
_TINY = 1e-300
Ends = Callable[[float, bool], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimated:
    """A number for each cell, the variance of its noise, that of noise and sampling, and intervals for both.

    `spread` is the variance of sampling as it was measured, which may be negative, and the variance of its noise.
    """

    values: FloatArray
    variance: FloatArray
    sampled: FloatArray | None
    ends: Ends
    spread: tuple[FloatArray, FloatArray] | None = None
    counts: Form | None = None
    # Blocks of sample and aggregate that gave no number, where they were counted.
    silent: Form | None = None


def estimate(estimator: Estimator, sums: Sums, *, is_student: bool = False) -> Estimated:
    """What the estimator makes of these sums, in the unit of the shown number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = estimator.value(sums)
        if estimator.scale is Scale.FISHER:
            made = _correlated(estimator, sums, value)
        elif isinstance(value, Quotient):
            made = _quotient(estimator, sums, value, is_student=is_student)
        else:
            made = _smooth(estimator, sums, value)
    shown = _shown(made, float(sums.law.offset), float(sums.law.scale))
    return _root(shown) if estimator.is_root else shown


def _shown(made: Estimated, offset: float, scale: float) -> Estimated:
    """In the unit of the shown number."""

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        lower, upper = made.ends(confidence, is_sampling)
        return offset + scale * lower, offset + scale * upper

    return Estimated(
        values=offset + scale * made.values,
        variance=scale**2 * made.variance,
        sampled=None if made.sampled is None else scale**2 * made.sampled,
        ends=ends,
        spread=None if made.spread is None else (scale**2 * made.spread[0], scale**4 * made.spread[1]),
        counts=made.counts,
    )


def _root(square: Estimated) -> Estimated:
    """The root of a number that is not negative."""
    # Near zero the root is steeper than it is over the reach of the noise.
    slope = 1 / (4 * np.maximum(np.maximum(square.values, np.sqrt(square.variance)), _TINY))

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        lower, upper = square.ends(confidence, is_sampling)
        return np.sqrt(np.maximum(lower, 0.0)), np.sqrt(np.maximum(upper, 0.0))

    sampled = None if square.sampled is None else square.sampled * slope
    spread = None if square.spread is None else (square.spread[0] * slope, square.spread[1] * slope**2)
    values, variance = np.sqrt(square.values), square.variance * slope
    return Estimated(values=values, variance=variance, sampled=sampled, ends=ends, spread=spread)


@dataclass(frozen=True, eq=False)
class _Spread:
    """Variance of sampling as it was measured, and the variance of the noise in it; or replicates of it, whose unit is
    so large.
    """

    measured: FloatArray
    uncertainty: FloatArray
    replicates: ResampledInfluences | None = None
    unit: FloatArray | float = 1.0

    @property
    def variance(self) -> FloatArray:
        return np.maximum(self.measured, 0.0)

    @property
    def known(self) -> tuple[FloatArray, FloatArray] | None:
        """For `Estimated.spread`; None where replicates tell it."""
        return (self.measured, self.uncertainty) if self.replicates is None else None

    def times(self, factor: FloatArray | float) -> "_Spread":
        return _Spread(factor * self.measured, factor**2 * self.uncertainty, self.replicates, factor * self.unit)

    def reach(self, confidence: float, noise: FloatArray, *, fourth: FloatArray, **keywords: Any) -> FloatArray:
        """Half-widths of noise and sampling, in standard errors."""
        if self.replicates is None:
            keywords |= {"sampling": self.measured, "uncertainty": self.uncertainty}
            return reach(confidence, noise, fourth=fourth, **keywords)
        total = np.maximum(noise + self.variance, _TINY)
        half = np.sqrt(self.unit) * self.replicates.beside(confidence, noise / np.maximum(self.unit, _TINY))
        tails = reach(confidence, total, fourth=fourth) / reach(confidence, total, fourth=0 * fourth)
        return np.asarray(np.nan_to_num(half, nan=np.inf) / np.sqrt(total) * tails)


def _sampling(estimator: Estimator, sums: Sums, dual: Dual) -> _Spread | None:
    """The error of sampling of a number; None where it was not measured."""
    if sums.replicates is not None:
        unit = (influences(sums, dual)[-1] / float(sums.law.more["reach"])) ** 2
        return _Spread(sums.replicates.sampling(), np.zeros(1), sums.replicates).times(unit)
    if INFLUENCE in sums.law.products:
        largest = influences(sums, dual)[-1]
        factor = sums.rows * largest**2 / float(sums.law.more[INFLUENCE])
        squares: Form | None = sums.measured.combined(sums.law.products[INFLUENCE]).times(factor)
    elif estimator.spread is not None and sums.law.weight is None:
        made = estimator.spread(sums, dual)
        return None if made is None else _Spread(*made).times(sums.rows)
    else:
        squares = sums.squares(dual)
        squares = None if squares is None else squares.times(sums.rows)
    return None if squares is None else _Spread(squares.values, squares.variance)


def influence_of(estimator: Estimator, sums: Sums) -> FloatArray:
    """How rows of each cell move the number, as `influences` says it."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = estimator.value(sums)
        return influences(sums, _moved(estimator, value) if isinstance(value, Quotient) else value)


def mean_square(estimator: Estimator, sums: Sums, mean: Callable[[str, str], float]) -> float:
    """Mean of the squares of what rows move the number of one cell by, in parts of the largest such square.

    `mean` is that of the product of what a row adds to two sums.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = estimator.value(sums)
        dual = _moved(estimator, value) if isinstance(value, Quotient) else value
        pairs = ((a, b, mean(a, b)) for a in sums.places for b in sums.places)
        square = sum(product * dual.gradient[sums.places[a]] * dual.gradient[sums.places[b]] for a, b, product in pairs)
        return float(np.clip(square / influences(sums, dual)[-1] ** 2, 0.0, 1.0)[0])


def _moved(estimator: Estimator, value: Quotient) -> Dual:
    """What moves with the sums as the quotient does, in units of one below the line."""
    top: Dual = value.top
    bottom: Dual = value.bottom
    theta = top.values / bottom.values
    if estimator.clip is not None:
        theta = np.clip(theta, *estimator.clip)
    return (top - theta * bottom) / bottom.values


def _quotient(estimator: Estimator, sums: Sums, value: Quotient, *, is_student: bool) -> Estimated:
    """Fieller's interval, or Wilson's for a share of rows."""
    top, bottom = value.top, value.bottom
    above, below = sums.form(top), sums.form(bottom)
    a, b = top.values, bottom.values
    is_known = b >= float(sums.law.least)
    theta = np.where(is_known, a / np.where(is_known, b, 1.0), np.nan)
    deviation = top - np.nan_to_num(theta) * bottom
    residual = sums.form(deviation)
    noise = residual.variance
    if INFLUENCE in sums.law.products or sums.replicates is not None:
        # Influences are those of the quotient itself.
        stated = _sampling(estimator, sums, _moved(estimator, value))
        assert stated is not None
        stated = stated.times(b**2)
    else:
        stated = _sampling(estimator, sums, deviation)
    spread = stated or _Spread(np.zeros(1), np.zeros(1))
    has_rows, is_plain = ROWS in sums.places, sums.law.weight is None
    is_counted, is_binomial = is_plain and has_rows, is_plain and estimator.scale is Scale.SCORE
    records: FloatArray = sums.records if has_rows else np.full(1, np.inf)
    # Numbers of rows, or sums of weights in their unit.
    counts = sums.forms[ROWS] if has_rows else None
    if counts is not None and sums.law.weight is not None:
        counts = counts.times(float(sums.law.weight))
    if is_counted:
        spread = replace(spread, measured=spread.measured * b / np.maximum(b - 1, 1))
    sampling, alone = spread.variance, _Spread(np.zeros(1), np.zeros(1))
    if is_binomial:
        spread = replace(spread, uncertainty=np.zeros(1))
    quadratic = (above.variance, above.covariance(below), below.variance)

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        more = sampling if is_sampling else np.zeros(1)
        q = (spread if is_sampling else alone).reach(
            confidence, noise, fourth=residual.fourth, records=records / sums.rows, is_student=is_student
        )
        exact = None if is_sampling else residual.exact_half(confidence)
        if exact is not None:
            q = exact / np.sqrt(np.maximum(noise, _TINY))
        c0, c1, c2 = quadratic
        if is_sampling and is_binomial:
            # The variance of a binomial count at each theta in question, as in Wilson's interval.
            c1, c2 = c1 - sums.rows * b / 2, c2 - sums.rows * b
        elif is_sampling:
            c0 = c0 + more
        lower, upper = _roots(b**2 - q**2 * c2, a * b - q**2 * c1, a**2 - q**2 * c0)
        is_bounded = is_known & (b**2 > q**2 * np.maximum(c2, 0.0))
        low, high = (np.where(is_bounded, end, np.nan) for end in (lower, upper))
        return low, high

    variance = np.where(is_known, noise / b**2, np.nan)
    sampled = np.where(is_known, (noise + sampling) / b**2, np.nan)
    return Estimated(
        values=theta,
        variance=variance,
        sampled=None if stated is None else sampled,
        ends=ends,
        spread=None if stated is None else spread.times(1 / b**2).known,
        counts=counts,
    )


def _roots(square: FloatArray, middle: FloatArray, last: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both roots of square t^2 - 2 middle t + last, the smaller first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(middle**2 - square * last, 0.0))
        return (middle - root) / square, (middle + root) / square


def _is_sure(estimator: Estimator, sums: Sums) -> FloatArray:
    """Whether every guard is clear of its noise."""
    clear = [guard.values > _SURE * np.sqrt(sums.noise(guard)) for guard in estimator.guards(sums)]
    return np.all(np.broadcast_arrays(*clear), axis=0) if clear else np.ones(1, dtype=bool)


def _correlated(estimator: Estimator, sums: Sums, value: Quotient) -> Estimated:
    """Fieller's interval of a quotient between -1 and 1; distances of sampling are added in squares."""
    product, size = sums.form(value.top), sums.form(value.bottom)
    root = value.bottom.values
    shown = np.clip(value.top.values / root, -1.0, 1.0)
    residual = sums.form(value.top - shown * value.bottom)
    is_sure = _is_sure(estimator, sums)
    noise = residual.variance / root**2
    spread = _sampling(estimator, sums, _moved(estimator, value))

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        q = reach(confidence, residual.variance, fourth=residual.fourth)
        square = root**2 - q**2 * size.variance
        lower, upper = _roots(
            square, shown * root**2 - q**2 * product.covariance(size), (shown * root) ** 2 - q**2 * product.variance
        )
        is_bounded = is_sure & (square > 0)
        lower = np.where(is_bounded, np.maximum(lower, -1.0), -1.0)
        upper = np.where(is_bounded, np.minimum(upper, 1.0), 1.0)
        if not is_sampling or spread is None:
            return lower, upper
        both = np.maximum(noise + spread.variance, _TINY)
        wide = spread.reach(confidence, noise, fourth=residual.fourth / root**4)
        half = np.sqrt(np.maximum(wide**2 * both - q**2 * noise, 0.0))
        below, above = _sides(shown, lower, upper, half)
        return shown - np.hypot(shown - lower, below), shown + np.hypot(upper - shown, above)

    sampled = None if spread is None else noise + spread.variance
    return Estimated(
        values=shown, variance=noise, sampled=sampled, ends=ends, spread=None if spread is None else spread.known
    )


def _sides(value: FloatArray, lower: FloatArray, upper: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distances of sampling to both sides: the larger of the plain one and Fisher's, at the value and at its ends."""
    with np.errstate(divide="ignore"):
        reached = half / (1 - value**2)
    below = np.maximum(value - _fisher(value, -reached), lower - _fisher(lower, -reached))
    above = np.maximum(_fisher(value, reached) - value, _fisher(upper, reached) - upper)
    return np.fmax(below, half), np.fmax(above, half)


def _fisher(value: FloatArray, move: FloatArray) -> FloatArray:
    """A correlation moved on the scale of the inverse hyperbolic tangent, on which one is infinitely far."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.tanh(np.arctanh(value) + move))


def _smooth(estimator: Estimator, sums: Sums, dual: Dual) -> Estimated:
    """A smooth function of sums: the noise by its gradient, and the error of sampling on the scale that suits it."""
    value = dual.values if estimator.clip is None else np.clip(dual.values, *estimator.clip)
    gradient = sums.form(dual)
    noise, is_sure = gradient.variance, _is_sure(estimator, sums)
    spread = _sampling(estimator, sums, Dual(value, dual.gradient))
    shape = _SHAPES[estimator.scale]

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        own = np.maximum(noise, _TINY)
        reached = reach(confidence, own, fourth=gradient.fourth)
        half = reached * np.sqrt(own)
        below, above = _beside(estimator, sums, dual, reached)
        if not is_sampling or spread is None:
            exact = gradient.exact_half(confidence)
            below, above = (below, above) if exact is None else (exact, exact)
        else:
            total = np.maximum(noise + spread.variance, _TINY)
            q = spread.reach(confidence, noise, fourth=gradient.fourth)
            more = shape(value, np.sqrt(np.maximum(q**2 * total - half**2, 0.0)))
            below, above = np.hypot(below, more[0]), np.hypot(above, more[1])
        lower, upper = (np.where(is_sure, end, np.nan) for end in (value - below, value + above))
        return lower, upper

    sampled = None if spread is None else noise + spread.variance
    return Estimated(
        values=value,
        variance=noise + 0 * value,
        sampled=sampled,
        ends=ends,
        spread=None if spread is None else spread.known,
    )


def _beside(estimator: Estimator, sums: Sums, dual: Dual, reached: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far the noise reaches to both sides: of all numbers that it allows where the number of rows, which is
    measured too, is below the line. A number v, times a power B of the rows, has fewer bends than v itself.
    """
    noise = np.maximum(sums.noise(dual), _TINY)
    if not estimator.rows_below or ROWS not in sums.places:
        return (reached * np.sqrt(noise),) * 2
    rows = sums[ROWS]
    power = rows
    for _ in range(1, estimator.rows_below):
        power = power * rows
    scaled, below = sums.form(Dual(dual.values, power.values * dual.gradient)), sums.form(power)
    square = power.values**2 - reached**2 * below.variance
    middle = -(reached**2) * scaled.covariance(below)
    down, up = _roots(square, middle, -(reached**2) * np.maximum(scaled.variance, _TINY))
    is_bounded = square > 0
    return np.where(is_bounded, -down, np.inf), np.where(is_bounded, up, np.inf)


def _logarithmic(value: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    """On the log scale where the value is well above zero; plain distances elsewhere."""
    is_large = value > half
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor = np.exp(np.where(is_large, half / value, 0.0))
    return np.where(is_large, value - value / factor, half), np.where(is_large, value * factor - value, half)


_SHAPES = {Scale.PLAIN: lambda value, half: (half, half), Scale.LOG: _logarithmic}


def reach(
    confidence: float,
    noise: FloatArray,
    *,
    fourth: FloatArray,
    sampling: FloatArray | float = 0.0,
    uncertainty: FloatArray | float = 0.0,
    records: FloatArray | float = np.inf,
    is_student: bool = False,
) -> FloatArray:
    """Half-widths of two errors, in standard errors of both as measured: variances of `noise` and of `sampling`.

    The second was measured itself: `uncertainty` is the variance of the noise in it, which may make it negative, and it
    comes from that many `records`. This is the one rule for how far a noisy variance is widened. Where it is known
    well, by Student's quantile at Satterthwaite's degrees of freedom. Where it is hardly known (its standard error is
    more than three fifths of both variances together) a multiple of that standard error is added to it: over every true
    variance and every uncertainty, of normal or Laplace noise, such intervals hold at least their level
    (tests/algebra/test_intervals.py), and they are shorter than Student's. The first Cornish-Fisher term widens for the
    fourth cumulant of the noise. `is_student` leaves the second rule out, where only the order of predicted widths
    matters and plans that were recorded must stay.
    """
    from scipy.special import stdtrit

    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    floored = np.maximum(sampling, 0.0)
    total = np.maximum(noise + floored, _TINY)

    def student(inverse: FloatArray) -> FloatArray:
        """The quantile at so many degrees of freedom, given by their inverse."""
        degrees = np.nan_to_num(np.maximum(1 / np.maximum(inverse, 1e-9), _LEAST_DEGREES), nan=_LEAST_DEGREES)
        return np.where(inverse < 1e-9, z, stdtrit(degrees, 0.5 + confidence / 2))

    with np.errstate(divide="ignore", invalid="ignore"):
        few = (floored / total) ** 2 / np.maximum(records - 1, 1)
        quantile = student(uncertainty / (2 * total**2) + few)
        excess = np.minimum(fourth / total**2, EXCESS)
        error = np.sqrt(uncertainty)
        hardly = noise + np.maximum(sampling + _ADDED * z**2 * error, _LEAST_PART * error)
    if not is_student:
        quantile = np.where(error > _HARDLY_KNOWN * total, student(few) * np.sqrt(hardly / total), quantile)
    return np.asarray(quantile * (1 + np.maximum(np.nan_to_num(excess), 0.0) * (z**2 - 3) / 24))
