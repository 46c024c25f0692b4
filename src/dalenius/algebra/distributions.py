"""Distribution functions from noisy counts between points, with bands: docs/reference/methods/distribution.md."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalenius.core.estimate import rows_per_unit
from dalenius.core.law import Additive, FloatArray, Law
from dalenius.core.release import Block
from dalenius.errors import InternalError

REPLAYS = 4096
_NARROW = 0.49
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


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelNoise:
    """Of bins that were joined from runs of several lengths, alike in all curves."""

    bins: int
    widths: tuple[int, ...]
    variances_of_levels: tuple[float, ...]
    is_normal: tuple[bool, ...]
    is_known: bool
    grain: float = 0.0

    def variances(self, shares: FloatArray) -> FloatArray:
        return point_variances(self.bins, self.widths, self.variances_of_levels, shares, self.is_known)

    def replayed(self, curve: int, shares: FloatArray) -> FloatArray:
        below, whole = self._replays
        return np.asarray(below - whole[:, None] * shares)

    @cached_property
    def _replays(self) -> tuple[FloatArray, FloatArray]:
        """Of the counts below every point, and of all records."""
        made = joined(self.bins, self.widths, self.variances_of_levels, self.is_known)
        normal = normal_numbers(made.shape[1], 1)
        many = [nodes_of(self.bins, w) for w in self.widths]
        scale = np.repeat(np.sqrt(self.variances_of_levels), many)
        drawn = np.where(np.repeat(self.is_normal, many), normal, two_sided(normal)) * scale
        below = np.cumsum(drawn @ made.T, axis=1)
        return below[:, :-1], below[:, -1]


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassNoise:
    """Of bins that are classes in the cells of a margin: two bins of a cell share the same covariance, whichever they
    are, so that it follows from the variances of a bin and of all bins together.
    """

    bins: int
    of_bin: FloatArray
    of_all: FloatArray
    is_normal: bool
    grain: float = 0.0

    @property
    def own(self) -> FloatArray:
        """The part of a bin's variance that it does not share: own + common is that of a bin, and bins * own +
        bins^2 * common that of all.
        """
        if self.bins == 1:
            return self.of_bin
        return np.asarray(self.of_bin - (self.of_all / self.bins - self.of_bin) / (self.bins - 1))

    def variances(self, shares: FloatArray) -> FloatArray:
        """Sums of k bins vary about k / bins of all by own k (bins - k) / bins."""
        place = np.arange(1, self.bins) / self.bins
        own = self.own[:, None] * self.bins * place * (1 - place)
        return np.asarray(own + self.of_all[:, None] * (place - shares) ** 2)

    def replayed(self, curve: int, shares: FloatArray) -> FloatArray:
        own, whole = self._replays
        place = np.arange(1, self.bins) / self.bins
        of_all = np.sqrt(self.of_all[curve]) * whole[:, None] * (place - shares)
        return np.asarray(np.sqrt(max(self.own[curve], 0.0)) * own + of_all)

    @cached_property
    def _replays(self) -> tuple[FloatArray, FloatArray]:
        """Sums of bins about their mean, for a variance of one, and all bins together."""
        normal = normal_numbers(self.bins + 1, 1)
        drawn = normal if self.is_normal else two_sided(normal)
        about = drawn[:, :-1] - drawn[:, :-1].mean(axis=1, keepdims=True)
        return np.cumsum(about, axis=1)[:, :-1], drawn[:, -1]


BinNoise = LevelNoise | ClassNoise
"""What is off in the bins of every curve: `variances` of the count below each point less its share of all, a row for
each curve; `replayed` at the points of one curve, a row for each replay. `grain` is what whole draws are counted in
where most of them are none; 0 elsewhere.
"""


class Distribution:
    """What a release of distribution functions says, curve by curve and point by point (the last axis).

    Where records count by weights, `squares` are the measured sums of squared weights in every bin, from which the
    error of sampling follows; without them there is none.
    """

    has_sampling: bool
    noise: BinNoise
    records: FloatArray
    rows: int
    squares: FloatArray
    values: FloatArray

    def __init__(
        self,
        counts: FloatArray,
        noise: BinNoise,
        *,
        rows: int = 1,
        least: float = 1.0,
        squares: FloatArray | None = None,
        is_weighted: bool = False,
    ) -> None:
        self.noise, self.rows, self.has_sampling = noise, rows, squares is not None or not is_weighted
        below = np.cumsum(counts, axis=1)
        self.records = np.where(below[:, -1] >= least, below[:, -1], np.nan)
        raw = np.clip(below[:, :-1] / self.records[:, None], 0.0, 1.0)
        # Halfway between the least rising curve above and the largest below: no rising curve is farther than before.
        above, under = np.maximum.accumulate(raw, axis=1), np.minimum.accumulate(raw[:, ::-1], axis=1)
        self.values = np.asarray((above + under[:, ::-1]) / 2)
        shares = np.diff(self.values, axis=1, prepend=0.0, append=1.0)
        self.squares = self.records[:, None] * np.maximum(shares, 0.0) if squares is None else squares

    @classmethod
    def of_blocks(cls, parameters: Mapping[str, Any], blocks: Sequence[Block], cells: int) -> "Distribution":
        """From counts of runs, and squares of weights after them where they were measured."""
        points = len(parameters["points"])
        bins, curves = points + 1, cells // points
        widths, size = tuple(int(w) for w in parameters["widths"]), parameters.get("size")
        levels = [_counted(block, curves, int(parameters.get("unit", 1))) for block in blocks[: len(widths)]]
        noise = LevelNoise(
            bins=bins,
            widths=widths,
            variances_of_levels=tuple(level.variance for level in levels),
            is_normal=tuple(level.is_normal for level in levels),
            is_known=size is not None,
            grain=grain_of(block.law for block in blocks[: len(widths)]) * int(parameters.get("unit", 1)),
        )
        made = joined(bins, widths, noise.variances_of_levels, noise.is_known)
        counts = np.concatenate([level.values for level in levels], axis=1) @ made.T
        if size is not None:
            counts = counts + int(size) * _shares_of_total(bins, widths, noise.variances_of_levels)
        squares = None
        if "squares" in parameters:
            squares = upper_squares(*_counted(blocks[-1], curves, int(parameters["squares"]))[:2])
        return cls(
            counts,
            noise,
            rows=rows_per_unit(parameters),
            least=float(parameters.get("least", 1.0)),
            squares=squares,
            is_weighted="weight" in parameters,
        )

    def variance(self, *, with_sampling: bool) -> FloatArray:
        f, records = self.values, self.records[:, None]
        noise = self.noise.variances(np.nan_to_num(f)) / records**2
        if not with_sampling:
            return np.asarray(noise).reshape(-1)
        running = np.cumsum(self.squares, axis=1)
        below, above = running[:, :-1], running[:, -1:] - running[:, :-1]
        return np.asarray(noise + self.rows * ((1 - f) ** 2 * below + f**2 * above) / records**2).reshape(-1)

    def half_widths(self, confidence: float, is_sampling: bool) -> FloatArray:
        """How far the worst point of each curve is off, with this probability."""
        halves = []
        for curve, (shares, n) in enumerate(zip(self.values, self.records, strict=True)):
            if np.isnan(n):
                halves.append(np.nan)
                continue
            off = self.noise.replayed(curve, shares)
            if is_sampling:
                off = off + np.sqrt(self.rows) * _bridges(shares, self.squares[curve])
            halves.append((float(np.quantile(np.abs(off).max(axis=1), confidence)) + self.noise.grain) / n)
        return np.array(halves)

    def ends(self, confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        """A band of one width along each curve, flat."""
        half = self.half_widths(confidence, is_sampling)[:, None]
        return (self.values - half).reshape(-1), (self.values + half).reshape(-1)


def grain_of(laws: Iterable[Law]) -> float:
    """What whole draws are counted in where most of them are none, so that replays of normal noise, which hardly ever
    is, say too little of the others; 0 elsewhere. From half a squared step on bands of normal noise hold 94 %.
    """
    narrow = (float(law.step) for law in laws if isinstance(law, Additive) and law.noise.variance < _NARROW)
    return max(narrow, default=0.0)


class CountedLevel(NamedTuple):
    """The counts of one level of all curves: a row each, with the variance of their noise."""

    values: FloatArray
    variance: float
    is_normal: bool


def _counted(block: Block, curves: int, unit: int) -> CountedLevel:
    if not isinstance(block.law, Additive):
        raise InternalError("Runs of bins are counted with additive noise.")
    noise = block.law.noise
    values = unit * block.values.astype(np.float64).reshape(curves, -1)
    return CountedLevel(values, unit**2 * float(noise.variance), noise.name == "discrete_gaussian")


def upper_squares(values: FloatArray, variance: FloatArray | float) -> FloatArray:
    """Squares of weights in every bin, none below zero, whose sum is two standard errors of its noise above what was
    measured; `variance` is that of one bin, and each row is a curve.
    """
    squares, bins = np.maximum(values, 0.0), values.shape[1]
    upper = np.maximum(values.sum(axis=1), 0.0) + 2 * np.sqrt(bins * np.asarray(variance))
    measured = squares.sum(axis=1)
    shares = np.where(measured[:, None] > 0, squares / np.maximum(measured, 1e-300)[:, None], 1 / bins)
    return np.asarray(shares * upper[:, None])


def _bridges(shares: FloatArray, squares: FloatArray) -> FloatArray:
    """Replayed sampling error of a curve at its points, times the number of records."""
    moved = normal_numbers(len(squares), 2) * np.sqrt(squares)
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
