"""Estimates and intervals from noisy bootstrap replicates: nothing but the release is needed.

In each cell there are k noisy totals m_b = T + resampling error (variance V) + noise (variance s2) of what rows add
about a public centre; T is the exact total and V the sum of squares of what rows add. What follows, with the prior of
the calibrated interval: docs/explanation/private-bootstrap.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import pi, sqrt
from typing import Any

import numpy as np

from dalenius.algebra.intervals import Estimated
from dalenius.algebra.sums import Form, MeasuredArrays
from dalenius.core.law import FloatArray, Joint
from dalenius.core.release import Block

_POINTS = 240
_STEPS, _NEAR = 100, 1e-12
# Points at which a normal error of the bagged total is looked at, and cells that are looked at together.
_NODES, _AT_ONCE = 7, 4096
_CONSERVATIVE = 0.05
# The mass of the prior at the largest possible V; between there and nothing it has log(1 + V / s2).
_AT_THE_BOUND = 5.0
# With measured squares: in standard errors of theirs.
_AT_THE_BOUND_MEASURED = 2.0
# A measured V is looked for within so many standard errors, at so many points.
_WITHIN, _MEASURED_POINTS, _OTHER_POINTS = 7.0, 121, 60
# Without declared bounds V is looked for up to so many times the spread, more where few replicates tell it.
_LEAST_BEYOND, _BEYOND, _FEW_BEYOND = 1e4, 1e2, 1e4
# A cell of a share with fewer rows is small.
_SMALL = 16.0
# A share is looked at as if two more rows had the property and two more had not (Agresti & Coull 1998).
_MORE_ROWS = 4.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Replicates:
    """Replicates of every cell, in the units in which rows add; `records` are the rows, None where random.

    `is_even` says that every row adds the reach or takes it off. Units have up to `rows` rows: what they add together
    varies at most so many times as much as if their rows were independent (Cauchy & Schwarz), and that is what is said
    of sampling. `squares` is V with noise of the variance `squares_variance`, if it was measured.
    """

    totals: FloatArray
    noise: float
    reach: float
    records: FloatArray | None = None
    records_variance: FloatArray | float = 0.0
    is_even: bool = False
    rows: int = 1
    squares: FloatArray | None = None
    squares_variance: float = 0.0

    @property
    def count(self) -> int:
        return int(self.totals.shape[1])

    @property
    def bagged(self) -> FloatArray:
        return np.asarray(self.totals.mean(axis=1))

    @property
    def spread(self) -> FloatArray:
        """Variance of the replicates, with divisor k - 1."""
        return np.asarray(self.totals.var(axis=1, ddof=1))

    @property
    def counted(self) -> FloatArray:
        """What the resampled number of rows adds to the variance of a total about a mean, where that was fixed."""
        if self.records is None:
            return np.zeros(len(self.totals))
        least = np.maximum(self.bagged**2 - self.spread / self.count, 0.0)
        return np.asarray(least / np.maximum(self.records, 1.0))

    def sampling(self, kind: str = "unbiased") -> FloatArray:
        """Variance of the exact total under sampling: unbiased, conservative or most_conservative; never below zero."""
        from scipy.special import chdtri

        if self.is_even and kind == "unbiased":
            return self._even
        if self.squares is not None and kind == "unbiased":
            return np.asarray(self.rows * np.maximum(self._measured() - self.counted, 0.0))
        k = self.count
        shares = {
            "unbiased": 1.0,
            "conservative": float(chdtri(k - 1, 1 - _CONSERVATIVE)) / (k - 1),
            "most_conservative": 0.0,
        }
        return np.asarray(self.rows * np.maximum(self.spread - shares[kind] * self.noise - self.counted, 0.0))

    @property
    def _even(self) -> FloatArray:
        """The same where every row adds or takes off the reach: n - T^2 / n in its squares, with four rows more."""
        assert self.records is not None
        n = np.maximum(self.records, 1.0)
        share = self.counted * n / (self.reach * (n + _MORE_ROWS)) ** 2
        return np.asarray(self.rows * np.maximum(n * self.reach**2 * (1 - share), 0.0))

    def _measured(self) -> FloatArray:
        """V by the measured squares and by the spread, each weighted by what it tells."""
        assert self.squares is not None
        by_spread = 2 * (self.noise + np.maximum(self.squares, 0.0)) ** 2 / (self.count - 1)
        share = by_spread / (by_spread + self.squares_variance)
        return np.asarray(share * self.squares + (1 - share) * (self.spread - self.noise))

    @property
    def ratio_noise(self) -> FloatArray:
        """Variance that noise in a measured number of rows adds to a total about the mean."""
        if self.records is None:
            return np.zeros(len(self.totals))
        share = self.bagged / np.maximum(self.records, 1.0)
        return np.asarray(share**2 * self.records_variance)

    def half_widths(self, confidence: float, *, is_sampling: bool) -> FloatArray:
        """Of intervals for the total: about the finite population, or calibrated for the process behind it."""
        return self._calibrated(confidence) if is_sampling else self._resampling(confidence)

    def quotient_sides(self, confidence: float, half: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distances below and above the bagged total over a measured number of rows, times that number: Fieller's.

        The half-width holds the noise of the number of rows at the quotient itself. In a cell of few rows the true one
        is elsewhere; NaN where the number of rows may be nothing.
        """
        from scipy.special import stdtrit

        assert self.records is not None
        n, total, of_rows = np.maximum(self.records, 1.0), self.bagged, np.asarray(self.records_variance)
        q = float(stdtrit(self.count - 1, 0.5 + confidence / 2))
        other = np.maximum(half**2 - q**2 * self.ratio_noise, 0.0)
        square = n**2 - q**2 * of_rows
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt((total * n) ** 2 - square * (total**2 - other))
            ends = [np.where(square > 0, (total * n + side * root) / square * n - total, np.nan) for side in (-1, 1)]
        return -ends[0], ends[1]

    def _resampling(self, confidence: float) -> FloatArray:
        """Student's quantile on the spread of the replicates; in small cells of a share no less than by its variance.

        Few rows are resampled to few totals, which often are all the same: their spread tells nothing then, and it is
        known to be that of so many rows.
        """
        from scipy.special import ndtri, stdtrit

        half = float(stdtrit(self.count - 1, 0.5 + confidence / 2)) * np.sqrt(
            self.spread / self.count + self.ratio_noise
        )
        if not self.is_even or self.records is None:
            return np.asarray(half)
        of_rows = (self.noise + np.maximum(self.records, 1.0) * self.reach**2) / self.count + self.ratio_noise
        normal = float(ndtri(0.5 + confidence / 2)) * np.sqrt(of_rows)
        return np.where(self.records < _SMALL, np.maximum(half, normal), half)

    def _calibrated(self, confidence: float) -> FloatArray:
        from scipy.special import ndtri

        if self.is_even:
            variance = self._even + (self.noise + self._most() * self.noise) / self.count + self.ratio_noise
            return np.asarray(float(ndtri(0.5 + confidence / 2)) * np.sqrt(variance))
        if len(self.totals) > _AT_ONCE:
            some = range(0, len(self.totals), _AT_ONCE)
            return np.concatenate([self._cells(slice(at, at + _AT_ONCE))._calibrated(confidence) for at in some])
        v, weights, least = self._possible()
        sampling = self.rows * np.maximum(v - least, 0.0)
        variance = sampling + (1 + v) / self.count + (self.ratio_noise / self.noise)[:, None]
        return _mixed_half(confidence, np.sqrt(variance * self.noise), weights)

    def beside(self, confidence: float, error: FloatArray) -> FloatArray:
        """Half-widths of a normal error of this variance together with one of the variance V that is resampled."""
        if len(self.totals) > _AT_ONCE:
            some = [slice(at, at + _AT_ONCE) for at in range(0, len(self.totals), _AT_ONCE)]
            errors = np.broadcast_to(error, len(self.totals))
            return np.concatenate([self._cells(part).beside(confidence, errors[part]) for part in some])
        v, weights = self._posterior(np.zeros(len(self.totals)))
        variance = self.rows * v + np.broadcast_to(error, len(v))[:, None] / self.noise
        return _mixed_half(confidence, np.sqrt(variance * self.noise), weights)

    def _cells(self, some: slice) -> "Replicates":
        variance = np.asarray(self.records_variance)
        return replace(
            self,
            totals=self.totals[some],
            records=None if self.records is None else self.records[some],
            records_variance=variance[some] if variance.ndim else self.records_variance,
            squares=None if self.squares is None else self.squares[some],
        )

    def _possible(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of squares, how likely each pair is, and what the mean explains; in variances of the noise."""
        if self.squares is None or self.records is None:
            least = np.minimum(self.counted / self.noise, 1e6)
            v, weights = self._posterior(least)
            return v, weights, least[:, None]
        nodes, chances = np.polynomial.hermite_e.hermegauss(_NODES)
        error = np.sqrt(self.spread / self.count)
        totals = np.abs(self.bagged)[:, None] + error[:, None] * nodes
        explained = np.minimum(totals**2 / np.maximum(self.records, 1.0)[:, None] / self.noise, 1e6)
        v, weights = self._posterior(explained.min(axis=1))
        whole = np.where(v[:, None, :] >= explained[:, :, None], weights[:, None, :] * chances[:, None], 0.0)
        # Where the measured squares are too small for every mean that is likely, the largest possible sum is left.
        whole[:, 0, -1] += 1e-300
        shape = (len(v), -1)
        flat = whole.reshape(shape)
        return (
            np.broadcast_to(v[:, None, :], whole.shape).reshape(shape),
            flat / flat.sum(axis=1, keepdims=True),
            np.broadcast_to(explained[:, :, None], whole.shape).reshape(shape),
        )

    def _posterior(self, least: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of squares from the least to the largest possible, in variances of the noise, and how likely each is."""
        is_bounded = self.records is not None
        most = np.maximum(self._most() if is_bounded else self._likely(), least + 1e-6)
        points = _POINTS if self.squares is None else _OTHER_POINTS
        first = np.full(len(most), 1e-5) if is_bounded else 0.1 / most
        steps = np.hstack([np.zeros((len(most), 1)), np.geomspace(first, 1.0, points, axis=1)])
        v = least[:, None] + (most - least)[:, None] * steps
        at_the_bound = _AT_THE_BOUND
        log_measured: FloatArray | float = 0.0
        if self.squares is not None:
            error = np.sqrt(self.squares_variance) / self.noise
            measured = (self.squares / self.noise)[:, None]
            near = measured + error * np.linspace(-_WITHIN, _WITHIN, _MEASURED_POINTS)
            v = np.sort(np.hstack([v, np.clip(near, least[:, None], most[:, None])]), axis=1)
            log_measured = -(((v - measured) / error) ** 2) / 2
            at_the_bound = _AT_THE_BOUND_MEASURED * error
        prior = np.gradient(v, axis=1) / (1 + v)
        if is_bounded:
            prior[:, -1] += at_the_bound / (1 if self.squares is None else 1 + v[:, -1])
        observed = (self.spread / self.noise)[:, None]
        log_likelihood = log_measured - (self.count - 1) / 2 * (np.log1p(v) + observed / (1 + v))
        weights = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True)) * prior
        return v, weights / weights.sum(axis=1, keepdims=True)

    def _likely(self) -> FloatArray:
        """A sum of squares beyond which hardly any is possible, in variances of the noise, where none is declared."""
        beyond = max(_BEYOND, _FEW_BEYOND ** (2 / (self.count - 1)))
        return np.asarray(np.maximum(_LEAST_BEYOND, beyond * self.spread / self.noise))

    def _most(self) -> FloatArray:
        """The largest sum of squares that the declared bounds allow, in variances of the noise."""
        assert self.records is not None
        many = self.records + 3 * np.sqrt(np.asarray(self.records_variance))
        return np.asarray(np.maximum(many, 1.0) * self.reach**2 / self.noise)


def _mixed_half(confidence: float, deviation: FloatArray, weights: FloatArray) -> FloatArray:
    """Half-widths of mixtures of normal laws about zero: deviations and weights of each cell in a row."""
    from scipy.special import ndtr, ndtri

    # The mixture's probability is concave in the half-width: Newton's steps from too short a one never go too far.
    half = float(ndtri(0.5 + confidence / 2)) * deviation.min(axis=1)
    for _ in range(_STEPS):
        z = half[:, None] / deviation
        inside = (weights * (2 * ndtr(z) - 1)).sum(axis=1)
        slope = (weights * np.exp(-z * z / 2) / deviation).sum(axis=1) * sqrt(2 / pi)
        step = np.maximum(confidence - inside, 0.0) / np.maximum(slope, 1e-300)
        half = half + step
        if np.all(step <= _NEAR * half):
            break
    return np.asarray(half)


def replicates_of(
    parameters: Mapping[str, Any],
    totals: FloatArray,
    counts: FloatArray | None,
    counts_variance: float,
    squares: FloatArray | None = None,
) -> Replicates:
    """From the parameters of a release's law and its measured arrays."""
    size = parameters.get("size")
    records: FloatArray | None = None
    if size is not None:
        records = np.full(len(totals), float(Fraction(str(size))))
    elif counts is not None:
        records = counts
    unit = float(Fraction(str(parameters.get("square_unit", 1))))
    return Replicates(
        totals=totals,
        noise=float(Fraction(str(parameters["sigma_squared"]))),
        reach=float(parameters["reach"]),
        records=records,
        records_variance=counts_variance if counts is not None else 0.0,
        is_even=parameters.get("of") == "proportion",
        rows=int(parameters.get("rows", 1)),
        squares=None if squares is None else unit * squares,
        squares_variance=0.0 if squares is None else unit**2 * sum_variance(parameters, "squares"),
    )


def sum_variance(parameters: Mapping[str, Any], name: str) -> float:
    """Of the noise of a sum that was measured beside the replicates."""
    return float(Fraction(str(parameters["sum_variances"][list(parameters["sums"]).index(name)])))


def deconvolved(replicates: Replicates, cell: int, confidence: float) -> tuple[float, float]:
    """How far an interval with sampling reaches below and above one cell's bagged estimate, without a normal law.

    How, and when it is of use: docs/explanation/private-bootstrap.md.
    """
    from scipy.special import ndtri

    m = replicates.totals[cell]
    noise = np.sqrt(replicates.noise)
    grid = np.linspace(m.min(), m.max(), 201)
    kernel = np.exp(-(((m[:, None] - grid) / noise) ** 2) / 2)
    weights = np.full(len(grid), 1 / len(grid))
    for _ in range(200):
        weights = weights * (kernel / (kernel @ weights)[:, None]).mean(axis=0)
    width = np.sqrt(max(weights @ grid**2 - (weights @ grid) ** 2, 0.0)) / 4 + 1e-300
    smooth = np.exp(-(((grid[:, None] - grid) / width) ** 2) / 2)
    weights = (smooth / smooth.sum(axis=0)) @ weights
    below = np.cumsum(weights) / weights.sum()
    tail = (1 - confidence) / 2
    low, high = (float(np.interp(p, below, grid)) for p in (tail, 1 - tail))
    mean = float(weights @ grid / weights.sum())
    resampling = max(float(replicates.spread[cell]) - replicates.noise, 1e-300)
    scale = max(1 - float(replicates.counted[cell]) / resampling, 0.0) * replicates.rows
    error = float(replicates.spread[cell] / replicates.count + replicates.ratio_noise[cell])
    z = float(ndtri(1 - tail))
    down, up = (np.sqrt(scale * side**2 + z * z * error) for side in (high - mean, mean - low))
    return float(down), float(up)


def resampled(parameters: Mapping[str, Any], blocks: Sequence[Block], cells: int) -> Estimated:
    """Bagged totals, or quotients by a number of rows, with both errors from the spread of the replicates."""
    made, unit, values, counts = replicated(parameters, blocks, cells)
    noise = unit**2 * (made.spread / made.count + made.ratio_noise)

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        below, above = sides_of(parameters, made, confidence, is_sampling=is_sampling)
        return values - unit * below, values + unit * above

    return Estimated(values=values, variance=noise, sampled=noise + unit**2 * made.sampling(), ends=ends, counts=counts)


def sides_of(
    parameters: Mapping[str, Any], made: Replicates, confidence: float, *, is_sampling: bool
) -> tuple[FloatArray, FloatArray]:
    """How far intervals reach below and above what is shown, in units in which rows add."""
    half = made.half_widths(confidence, is_sampling=is_sampling)
    is_measured = parameters["is_quotient"] and np.any(np.asarray(made.records_variance) > 0)
    return made.quotient_sides(confidence, half) if is_measured else (half, half)


def replicated(
    parameters: Mapping[str, Any], blocks: Sequence[Block], cells: int
) -> tuple[Replicates, FloatArray, FloatArray, Form | None]:
    """Replicates in units in which rows add, the size of such a unit, bagged values, measured numbers of rows."""
    measured = blocks[0].values.astype(np.float64).reshape(cells, -1)
    many = int(parameters["replicates"])
    sums = dict(zip(parameters.get("sums", ()), measured[:, many:].T, strict=True))
    counts = MeasuredArrays.of(blocks[1:], cells).form(0) if len(blocks) > 1 else None
    if "count" in sums:
        counts = MeasuredArrays.normal(sums["count"], sum_variance(parameters, "count")).form(0)
    made = replicates_of(
        parameters,
        measured[:, :many],
        None if counts is None else counts.values,
        0.0 if counts is None else float(counts.variance[0]),
        sums.get("squares"),
    )
    centre, factor, scale = (float(Fraction(str(parameters[key]))) for key in ("centre", "factor", "scale"))
    if parameters["is_quotient"]:
        assert made.records is not None
        n = np.where(made.records >= 1, made.records, np.nan)
        return made, scale / factor / n, scale * (centre + made.bagged / factor / n), counts
    moved = 0.0 if made.records is None else made.records * centre
    return made, np.full(cells, scale / factor), scale * (moved + made.bagged / factor), counts


def influences_of(block: Block, cells: int) -> Replicates:
    assert isinstance(block.law, Joint)
    noise = float(Fraction(str(block.law.parameters["sigma_squared"])))
    totals = block.values.astype(np.float64).reshape(cells, -1)
    return Replicates(totals=totals, noise=noise, reach=float(block.law.parameters["reach"]))
