"""Parameters of families from noisy sums of clipped values: docs/reference/methods/exponential_family.md."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra.distributions import two_sided
from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.algebra.intervals import Estimated
from dalenius.algebra.sums import Form, MeasuredArrays, Sums
from dalenius.core.law import FloatArray
from dalenius.core.release import Block
from dalenius.core.search import narrow_each

REPLAYS = 1024
# Nearer to a bound than so many standard errors of its noise, a mean says little about the parameter.
_CLEAR = 3.0
_ROUNDS, _HALVINGS = 60, 42
# Points between 0 and 1 at which a law's quantiles stand for it.
_POINTS = (np.arange(2000) + 0.5) / 2000
Fit = Callable[[FloatArray, FloatArray, float, float], FloatArray]
_SCALES: Mapping[str, tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]] = {
    "plain": (np.asarray, np.asarray),
    "log": (np.log, np.exp),
    "logit": (lambda p: np.log(p) - np.log1p(-p), lambda t: 1 / (1 + np.exp(-t))),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One law of a number: its parameters, how the moments of clipped values give them, and its quantiles.

    `fit(mean, variance, low, high)` gives an array with the parameters first; `quantiles(theta, low, high)` the
    unclipped values at `_POINTS` for the parameters of one cell; `powers` by which each parameter changes its unit with
    that of the values; `scales` on which each has nearly the same error everywhere; `ends` what the first parameter can
    be.
    """

    parameters: tuple[str, ...]
    fit: Fit
    quantiles: Callable[[FloatArray, float, float], FloatArray]
    powers: tuple[int, ...] = (0,)
    scales: tuple[str, ...] = ("log",)
    ends: tuple[str, str] = ("0", "inf")
    needs_whole: bool = True

    @property
    def has_squares(self) -> bool:
        return len(self.parameters) > 1


@dataclass(frozen=True, eq=False, kw_only=True)
class FamilySums:
    """What was measured in each cell, as forms: number of rows, total and squares about `centre`; bounds in steps.

    `rows` is the largest number of rows of one unit, by which variances of sampling are multiplied.
    """

    count: Form
    total: Form
    squares: Form | None
    centre: float
    low: float
    high: float
    rows: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedFamily:
    """Fitted parameters of every cell, (cells, parameters), and replays of them, (cells, parameters, replays).

    Where the noise may carry a mean over a bound (`is_unclear`) the parameter does not move with the noise any more,
    and replays of it say nothing: its interval is that of the mean, `means` with their replays, each end fitted; of two
    parameters nothing is said.
    """

    values: FloatArray
    noise: FloatArray
    both: FloatArray
    scales: tuple[str, ...]
    means: FloatArray
    mean_noise: FloatArray
    mean_both: FloatArray
    is_unclear: NDArray[np.bool_]
    refit: Callable[[FloatArray], FloatArray]

    def variance(self, *, with_sampling: bool) -> FloatArray:
        return np.asarray((self.both if with_sampling else self.noise).var(axis=2))

    def ends(self, confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        """Reflected quantiles of the replays, each parameter on its scale where that is finite."""
        replays = self.both if is_sampling else self.noise
        tail = (1 - confidence) / 2
        low, high = np.quantile(replays, [tail, 1 - tail], axis=2)
        ends = np.stack([2 * self.values - high, 2 * self.values - low])
        for place, scale in enumerate(self.scales):
            to, back = _SCALES[scale]
            with np.errstate(all="ignore"):
                middle, *others = (to(part[:, place]) for part in (self.values, high, low))
                on_scale = np.stack([back(2 * middle - other) for other in others])
            ends[..., place] = np.where(np.isfinite(on_scale), on_scale, ends[..., place])
        ends = np.where(self.is_unclear[:, None], self._ends_of_means(tail, is_sampling), ends)
        return ends[0].reshape(-1), ends[1].reshape(-1)

    def _ends_of_means(self, tail: float, is_sampling: bool) -> FloatArray:
        if len(self.scales) > 1:
            lowest = [0.0 if scale == "log" else -np.inf for scale in self.scales]
            return np.array([[lowest], [[np.inf] * len(lowest)]])
        replays = self.mean_both if is_sampling else self.mean_noise
        low, high = np.quantile(replays, [tail, 1 - tail], axis=1)
        means = 2 * self.means - np.stack([high, low])
        # Where replays have fewer than two rows there is no mean, and a fit of none would be a number.
        return np.sort(np.where(np.isnan(means), np.nan, self.refit(means)[0]), axis=0)[..., None]


def fitted(family: Family, sums: FamilySums) -> FittedFamily:
    """Every cell on its own; not a number where fewer than two rows seem to be there."""
    points = _spread(2 + len(sums.count.measured.values))
    drawn, errors = points[:2], _noise(sums, points[2:])
    measured = _moments(sums, 0.0, 0.0, 0.0)
    values = _fit(family, sums, *measured)[..., 0]
    count, total, squares = (
        0.0 if form is None else form.weights.T @ errors for form in (sums.count, sums.total, sums.squares)
    )
    moved_by_noise = _moments(sums, count, total, squares)
    noise = _fit(family, sums, *moved_by_noise)
    expected = np.stack([_expected(family, sums, theta) for theta in values])
    rows = np.maximum(np.broadcast_to(sums.count.values, len(values)), 1.0)[:, None]
    mean, root, mixed, rest, square = (part[:, None] for part in expected.T)
    moved = np.sqrt(sums.rows * rows) * root * drawn[0]
    moved_squares = np.sqrt(sums.rows * rows) * (mixed * drawn[0] + rest * drawn[1])
    total_start = rows * mean - np.broadcast_to(sums.total.values, len(values))[:, None]
    squares_start = 0.0
    if sums.squares is not None:
        squares_start = rows * square - np.broadcast_to(sums.squares.values, len(values))[:, None]
    moved_by_both = _moments(sums, count, total + total_start + moved, squares + squares_start + moved_squares)
    # Replays of sampling start from the fitted law, which lies between the bounds; its mean moves with the measured.
    shift = measured[0] - (mean + sums.centre)
    return FittedFamily(
        values=values,
        noise=noise,
        both=_fit(family, sums, *moved_by_both),
        scales=family.scales,
        means=measured[0][:, 0],
        mean_noise=moved_by_noise[0],
        mean_both=moved_by_both[0] + shift,
        is_unclear=_is_unclear(family, sums, measured, moved_by_noise),
        refit=lambda means: family.fit(np.clip(means, sums.low, sums.high), np.ones_like(means), sums.low, sums.high),
    )


Moments = tuple[FloatArray, FloatArray]


def _is_unclear(family: Family, sums: FamilySums, measured: Moments, replayed: Moments) -> NDArray[np.bool_]:
    """Whether the noise may carry the mean of a cell over a bound, or its variance below nought."""
    (mean, variance), (means, variances) = measured, replayed
    room = np.minimum(mean - sums.low, sums.high - mean)[:, 0]
    is_unclear = ~(room >= _CLEAR * np.sqrt(np.mean((means - mean) ** 2, axis=1)))
    if family.has_squares:
        is_unclear |= ~(variance[:, 0] >= _CLEAR * np.sqrt(np.mean((variances - variance) ** 2, axis=1)))
    return np.asarray(is_unclear)


def _moments(sums: FamilySums, count: Any, total: Any, squares: Any) -> Moments:
    """Mean and variance of the values at the measured sums moved by so much: (cells, replays)."""
    n = sums.count.values[:, None] + count
    n = np.where(n >= 2, n, np.nan)
    mean = (sums.total.values[:, None] + total) / n
    variance = np.ones_like(mean)
    if sums.squares is not None:
        # The noise of the total makes its square larger on average.
        variance = (sums.squares.values[:, None] + squares) / n - mean**2 + sums.total.variance[:, None] / n**2
    return mean + sums.centre, variance


def _fit(family: Family, sums: FamilySums, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Parameters at such moments: (cells, parameters, replays)."""
    low, high = sums.low, sums.high
    mean = np.clip(mean, low, high)
    with np.errstate(all="ignore"):
        theta = family.fit(mean, np.maximum(variance, 1e-9 * (high - low) ** 2), low, high)
    is_known = ~np.isnan(mean)
    return np.moveaxis(np.where(is_known, theta, np.nan), 0, 1)


def _expected(family: Family, sums: FamilySums, theta: FloatArray) -> FloatArray:
    """Of one clipped value about the centre: mean, root of variance, how its square goes with it, mean square."""
    if np.isnan(theta).any():
        return np.full(5, np.nan)
    x = np.clip(family.quantiles(theta, sums.low, sums.high), sums.low, sums.high) - sums.centre
    mean, square = float(x.mean()), float((x * x).mean())
    root = float(np.sqrt(max(square - mean**2, 1e-12)))
    mixed = float(((x - mean) * (x * x - square)).mean()) / root
    rest = float(np.sqrt(max(float(((x * x - square) ** 2).mean()) - mixed**2, 0.0)))
    return np.array([mean, root, mixed, rest, square])


@lru_cache(maxsize=8)
def _spread(dimensions: int) -> FloatArray:
    """Standard normal numbers at evenly spread points: the recurrence by powers of the root of x^(d + 1) = x + 1."""
    from scipy.special import ndtri

    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    uniform = (0.5 + np.outer(steps, np.arange(1, REPLAYS + 1))) % 1
    numbers: FloatArray = ndtri(uniform)
    return numbers


def _noise(sums: FamilySums, points: FloatArray) -> FloatArray:
    """Noise of every measured array at the points: normal, or two-sided exponential for any other law."""
    measured = sums.count.measured
    return np.asarray(np.sqrt(measured.variance) * np.where(measured.excess > 0, two_sided(points), points))


def _bisected(expected: Callable[[FloatArray], FloatArray], mean: FloatArray, least: float, most: float) -> FloatArray:
    """Where a rising function reaches the mean, on the log scale."""
    low, high = np.full(mean.shape, np.log(least)), np.full(mean.shape, np.log(most))
    low, high = narrow_each(lambda x: expected(np.exp(x)) < mean, low, high, halvings=_HALVINGS)
    return np.asarray(np.exp((low + high) / 2))


def _share(mean: FloatArray, variance: FloatArray, low: float, high: float) -> FloatArray:
    return (mean / high)[None]


def _poisson(mean: FloatArray, variance: FloatArray, low: float, high: float) -> FloatArray:
    from scipy.special import pdtr

    def expected(rate: FloatArray) -> FloatArray:
        inside = pdtr(high - 2, rate) if high >= 2 else 0.0
        return np.asarray(rate * inside + high * (1 - pdtr(high - 1, rate)))

    return _bisected(expected, mean, 1e-9, 2 * high + 10)[None]


def _exponential(mean: FloatArray, variance: FloatArray, low: float, high: float) -> FloatArray:
    def expected(scale: FloatArray) -> FloatArray:
        return np.asarray(low + scale * (np.exp(-low / scale) - np.exp(-high / scale)))

    return 1 / _bisected(expected, mean, 1e-6 * high, 100 * high)[None]


def _gaussian(mean: FloatArray, variance: FloatArray, low: float, high: float) -> FloatArray:
    """By turns: each moves the parameters by what clipped values of them still lack."""
    from scipy.special import ndtr

    width = high - low
    centre, scale = mean.copy(), np.sqrt(variance)
    for _ in range(_ROUNDS):
        a, b = (low - centre) / scale, (high - centre) / scale
        below, above = ndtr(a), ndtr(-b)
        inside, at_a, at_b = 1 - below - above, _density(a), _density(b)
        first = low * below + high * above + centre * inside - scale * (at_b - at_a)
        second = low**2 * below + high**2 * above + (centre**2 + scale**2) * inside
        second -= scale**2 * (b * at_b - a * at_a) + 2 * centre * scale * (at_b - at_a)
        spread = np.maximum(second - first**2, 1e-9 * width**2)
        move, factor = mean - first, np.clip(np.sqrt(variance / spread), 0.5, 2.0)
        centre = np.clip(centre + move, low - 2 * width, high + 2 * width)
        scale = np.clip(scale * factor, 1e-6 * width, 4 * width)
        if max(np.nanmax(np.abs(move), initial=0.0) / width, np.nanmax(np.abs(factor - 1), initial=0.0)) < 1e-9:
            break
    return np.stack([centre, scale])


def _density(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-x * x / 2) / np.sqrt(2 * np.pi))


def _binomial_quantiles(theta: FloatArray, low: float, high: float) -> FloatArray:
    from scipy.stats import binom

    return np.asarray(binom.ppf(_POINTS, int(high), float(np.clip(theta[0], 0, 1))))


def _poisson_quantiles(theta: FloatArray, low: float, high: float) -> FloatArray:
    from scipy.stats import poisson

    return np.asarray(poisson.ppf(_POINTS, float(theta[0])))


def _exponential_quantiles(theta: FloatArray, low: float, high: float) -> FloatArray:
    return np.asarray(-np.log1p(-_POINTS) / theta[0])


def _gaussian_quantiles(theta: FloatArray, low: float, high: float) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(theta[0] + theta[1] * ndtri(_POINTS))


_PROBABILITY = Family(
    parameters=("probability",), fit=_share, quantiles=_binomial_quantiles, scales=("logit",), ends=("0", "1")
)
FAMILIES: Mapping[str, Family] = {
    "bernoulli": _PROBABILITY,
    "binomial": _PROBABILITY,
    "exponential": Family(
        parameters=("rate",), fit=_exponential, quantiles=_exponential_quantiles, powers=(-1,), needs_whole=False
    ),
    "gaussian": Family(
        parameters=("mean", "standard deviation"),
        fit=_gaussian,
        quantiles=_gaussian_quantiles,
        powers=(1, 1),
        scales=("plain", "log"),
        ends=("-inf", "inf"),
        needs_whole=False,
    ),
    "poisson": Family(parameters=("rate",), fit=_poisson, quantiles=_poisson_quantiles),
}


def fitted_family(law: EstimateLaw, blocks: Sequence[Block], cells: int) -> Estimated:
    """Parameters of an exponential family, in the unit of the values."""
    family = FAMILIES[str(law.more["family"])]
    sums = Sums(law, MeasuredArrays.of(blocks, cells // len(family.parameters)))
    low, high = law.ends["x"]
    made = fitted(
        family,
        FamilySums(
            count=sums.forms["1"],
            total=sums.forms["x"],
            squares=sums.forms.get("x x"),
            centre=sums.centre("x"),
            low=low,
            high=high,
            rows=sums.rows,
        ),
    )
    unit = np.tile([float(law.scale) ** power for power in family.powers], len(made.values))

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        lower, upper = made.ends(confidence, is_sampling)
        return unit * lower, unit * upper

    return Estimated(
        values=unit * made.values.reshape(-1),
        variance=unit**2 * made.variance(with_sampling=False).reshape(-1),
        sampled=unit**2 * made.variance(with_sampling=True).reshape(-1),
        ends=ends,
    )
