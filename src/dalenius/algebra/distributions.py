"""Distribution functions from noisy counts between points: values, errors, and bands that hold at all points at once.

Records are counted between neighbouring points, and again in runs of several such bins where that makes sums of bins
more exact; all counts of a curve are joined by least squares. What is off at a point is a linear form of independent
noise, and of the counts of a sample where the process behind the records is asked about. How far the worst point is off
follows from replays of both at fixed pseudo-random points, so that every product shows the same band.

Requires
    Independent additive noise of public laws; units that are independent draws of the process, for the band with
    sampling.
Evidence
    verify/distributions.py: how often the whole curve is in its band.
References
    Kolmogorov (1933); Hay, Rastogi, Miklau & Suciu (2010); Honaker (2015).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dalenius.core.estimate import rows_per_unit
from dalenius.core.law import Additive, FloatArray
from dalenius.core.release import Block
from dalenius.errors import InternalError

REPLAYS = 4096
_GOLDEN, _FIRST, _SECOND = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def nodes_of(bins: int, width: int) -> int:
    """How many runs of so many bins there are; the last one may be shorter."""
    return -(-bins // width)


@lru_cache(maxsize=64)
def incidence(bins: int, widths: tuple[int, ...]) -> FloatArray:
    """Which bins every counted run holds, level by level."""
    place = np.arange(bins)
    return np.concatenate([(np.arange(nodes_of(bins, w))[:, None] == place // w).astype(np.float64) for w in widths])


@lru_cache(maxsize=64)
def _spread(bins: int, widths: tuple[int, ...], variances: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """Covariance of the joined counts of bins, and the least-squares map to them; rows are bins."""
    counted = incidence(bins, widths)
    precision = np.concatenate([np.full(nodes_of(bins, w), 1 / v) for w, v in zip(widths, variances, strict=True)])
    spread = np.linalg.inv(counted.T @ (precision[:, None] * counted))
    return np.asarray(spread, dtype=np.float64), np.asarray(spread @ (counted.T * precision), dtype=np.float64)


def _shares_of_total(bins: int, widths: tuple[int, ...], variances: tuple[float, ...]) -> FloatArray:
    """Which part of what the joined counts lack to a public total each bin gets."""
    along = _spread(bins, widths, variances)[0].sum(axis=1)
    return np.asarray(along / along.sum())


@lru_cache(maxsize=64)
def joined(bins: int, widths: tuple[int, ...], variances: tuple[float, ...], is_known: bool) -> FloatArray:
    """The least-squares map from counted runs to bins; with a public total their errors add up to nothing."""
    made = _spread(bins, widths, variances)[1]
    if is_known:
        made = made - np.outer(_shares_of_total(bins, widths, variances), made.sum(axis=0))
    return np.asarray(made)


def point_variances(
    bins: int, widths: tuple[int, ...], variances: tuple[float, ...], shares: FloatArray, is_known: bool
) -> FloatArray:
    """Variance of the noise of the count below each point (last axis) less its share of all."""
    made = joined(bins, widths, variances, is_known)
    noise = np.concatenate([np.full(nodes_of(bins, w), v) for w, v in zip(widths, variances, strict=True)])
    below, whole = np.cumsum(made, axis=0)[:-1], made.sum(axis=0)
    square, mixed = (below**2 * noise).sum(axis=1), (below * whole * noise).sum(axis=1)
    return np.asarray(square - 2 * shares * mixed + shares**2 * float((whole**2 * noise).sum()))


@dataclass(frozen=True, eq=False)
class CountedLevel:
    """The counts of one level of all curves: a row each, with the variance of their noise."""

    values: FloatArray
    variance: float
    is_normal: bool


class Distribution:
    """What a release of distribution functions says, curve by curve and point by point (the last axis)."""

    has_sampling = True
    bins: int
    counted: "list[CountedLevel]"
    is_known: bool
    records: FloatArray
    rows: int
    values: FloatArray
    variances: tuple[float, ...]
    widths: tuple[int, ...]

    def __init__(self, parameters: Mapping[str, Any], blocks: Sequence[Block], cells: int) -> None:
        points = len(parameters["points"])
        self.bins, curves = points + 1, cells // points
        self.widths = tuple(int(w) for w in parameters["widths"])
        size, self.rows = parameters.get("size"), rows_per_unit(parameters)
        self.is_known = size is not None
        self.counted = [_counted(block, curves) for block in blocks]
        self.variances = tuple(level.variance for level in self.counted)
        stacked = np.concatenate([level.values for level in self.counted], axis=1)
        made = joined(self.bins, self.widths, self.variances, self.is_known)
        below = np.cumsum(stacked @ made.T, axis=1)
        if size is not None:
            below = below + int(size) * np.cumsum(_shares_of_total(self.bins, self.widths, self.variances))
        self.records = np.where(below[:, -1] >= 1, below[:, -1], np.nan)
        raw = np.clip(below[:, :-1] / self.records[:, None], 0.0, 1.0)
        # Halfway between the least rising curve above and the largest below: no rising curve is farther than before.
        above, under = np.maximum.accumulate(raw, axis=1), np.minimum.accumulate(raw[:, ::-1], axis=1)
        self.values = np.asarray((above + under[:, ::-1]) / 2)

    def variance(self, *, with_sampling: bool) -> FloatArray:
        """Of every point, flat."""
        f = self.values
        noise = point_variances(self.bins, self.widths, self.variances, np.nan_to_num(f), self.is_known)
        sampling = self.rows * f * (1 - f) / self.records[:, None] if with_sampling else 0.0
        return np.asarray(noise / self.records[:, None] ** 2 + sampling).reshape(-1)

    def half_widths(self, confidence: float, is_sampling: bool) -> FloatArray:
        """How far the worst point of each curve is off, with this probability."""
        below, whole = self._noise()
        halves = []
        for shares, n in zip(self.values, self.records, strict=True):
            if np.isnan(n):
                halves.append(np.nan)
                continue
            off = below - whole[:, None] * shares
            if is_sampling:
                off = off + np.sqrt(self.rows * n) * _bridges(shares)
            halves.append(float(np.quantile(np.abs(off).max(axis=1), confidence)) / n)
        return np.array(halves)

    def _noise(self) -> tuple[FloatArray, FloatArray]:
        """Replayed noise of the counts below every point, and of all records."""
        made = joined(self.bins, self.widths, self.variances, self.is_known)
        normal = normal_numbers(made.shape[1], 1)
        scale = np.concatenate([np.full(level.values.shape[1], level.variance**0.5) for level in self.counted])
        light = np.concatenate([np.full(level.values.shape[1], level.is_normal) for level in self.counted])
        drawn = np.where(light, normal, two_sided(normal)) * scale
        below = np.cumsum(drawn @ made.T, axis=1)
        return below[:, :-1], below[:, -1]

    def ends(self, confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        """A band of one width along each curve, flat."""
        half = self.half_widths(confidence, is_sampling)[:, None]
        return (self.values - half).reshape(-1), (self.values + half).reshape(-1)


def _counted(block: Block, curves: int) -> CountedLevel:
    if not isinstance(block.law, Additive):
        raise InternalError("Runs of bins are counted with additive noise.")
    noise = block.law.noise
    values = block.values.astype(np.float64).reshape(curves, -1)
    return CountedLevel(values, float(noise.variance), noise.name == "discrete_gaussian")


def _bridges(shares: FloatArray) -> FloatArray:
    """Replayed sampling error of a curve at its points, times the root of the number of records."""
    parts = np.diff(shares, prepend=0.0, append=1.0)
    moved = normal_numbers(len(parts), 2) * np.sqrt(np.maximum(parts, 0.0))
    running = np.cumsum(moved, axis=1)
    return np.asarray(running[:, :-1] - running[:, -1:] * shares)


@lru_cache(maxsize=16)
def normal_numbers(dimensions: int, stream: int) -> FloatArray:
    """Pseudo-random standard normal numbers, alike on every machine: a mixed counter (Steele, Lea & Flood 2014)."""
    from scipy.special import ndtri

    count = np.arange(REPLAYS * dimensions, dtype=np.uint64) + np.uint64(stream << 48)
    mixed = count * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed = mixed ^ (mixed >> np.uint64(31))
    uniform = ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / (1 << 53)
    return np.asarray(ndtri(uniform).reshape(REPLAYS, dimensions))


def two_sided(normal: FloatArray) -> FloatArray:
    """Two-sided exponential numbers of variance one at the same probabilities."""
    from scipy.special import log_ndtr

    return np.asarray(-np.sign(normal) * (log_ndtr(-np.abs(normal)) + np.log(2)) / np.sqrt(2))
