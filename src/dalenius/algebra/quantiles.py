"""Quantiles of each cell between ends that counts certify: docs/explanation/quantile-intervals.md."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, log10
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.points import cut_places, points_of
from dalenius.algebra.thresholds import Rank, reaches
from dalenius.core.estimate import rows_per_unit
from dalenius.core.law import Additive, FloatArray, IntArray
from dalenius.core.release import Block
from dalenius.errors import InternalError

CONFIDENCE = 0.95
# The part of the error that is left to a released number of records, or to released squares of weights.
_OF_SIZE = 1 / 40


def cuts_of(points: IntArray, count: int) -> IntArray:
    """Cuts of every cell in rising order, from the points of so many quantiles; one row a cell.

    Where points of a quantile fall together, as among few values, their cuts stand a step apart, away from it: the same
    cut twice would tell nothing.
    """
    places = np.array(cut_places(count), dtype=np.int64)
    cuts = points[:, places[:, 0]] + places[:, 1]
    sides = [(points_of(count)[place].own, is_above) for place, is_above in places]
    pairs = [(k - 1, k) for k in range(1, len(sides)) if sides[k] == sides[k - 1]]
    for inner, outer in pairs:
        if sides[outer][1]:
            cuts[:, outer] = np.maximum(cuts[:, outer], cuts[:, inner] + 1)
    for outer, inner in reversed(pairs):
        if not sides[outer][1]:
            cuts[:, outer] = np.minimum(cuts[:, outer], cuts[:, inner] - 1)
    return np.sort(cuts, axis=1)


def middles_of(points: IntArray, count: int) -> IntArray:
    """The quantiles themselves among the points of so many."""
    return points[:, [place for place, point in enumerate(points_of(count)) if not point.side]]


def cuts_around(middles: IntArray) -> IntArray:
    """Cuts below and above the quantiles of every cell, in rising order."""
    return np.sort(np.concatenate([middles, middles + 1], axis=1), axis=1)


class Quantiles:
    """What a release of quantiles says, cell by cell and quantile by quantile (the last axis)."""

    counts: IntArray
    cuts: IntArray
    has_sampling: bool
    high: int
    low: int
    middles: IntArray
    noise: Additive
    points: IntArray
    qs: list[Fraction]
    rows: int
    size: IntArray | None
    sizes: Block | None
    squares: Block | None
    step: Fraction
    unit: Fraction

    def __init__(self, parameters: Mapping[str, Any], blocks: Sequence[Block]) -> None:
        self.qs = [Fraction(q) for q in parameters["q"]]
        self.step = Fraction(str(parameters["step"]))
        self.low, self.high = (int(Fraction(str(end)) / self.step) for end in parameters["limits"])
        self.rows, self.has_sampling = rows_per_unit(parameters), bool(parameters.get("sampling", True))
        # What squared weights are measured in, where they are.
        self.unit = Fraction(str(parameters.get("squares", 0)))
        measured, self.squares = (blocks[:-1], blocks[-1]) if self.unit else (blocks, None)
        *first, selected, counted = measured
        if not isinstance(counted.law, Additive):
            raise InternalError("Records between cuts are counted with additive noise.")
        self.noise = counted.law
        points = selected.values.reshape(-1, len(points_of(len(self.qs))))
        self.cuts = cuts_of(points, len(self.qs))
        self.counts = counted.values.reshape(len(points), -1)
        self.size, self.sizes = parameters.get("size"), first[0] if first else None
        # The quantiles as they were selected: what the squares were cut at.
        self.middles = middles_of(points, len(self.qs))
        lower, upper = self._walked(CONFIDENCE, False)
        # A point that the counts exclude gives way to the nearest one that they do not.
        self.points = np.clip(self.middles, lower, upper)

    @property
    def values(self) -> FloatArray:
        return np.asarray(self.points * float(self.step), dtype=np.float64).reshape(-1)

    def variance(self, *, with_sampling: bool) -> FloatArray:
        """Of a normal law whose interval would reach as far as the longer side does; never below that of one step."""
        lower, upper = self._steps(CONFIDENCE, with_sampling)
        half = np.maximum(np.maximum(self.points - lower, upper - self.points), 1)
        z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
        return np.asarray((half * float(self.step) / z) ** 2, dtype=np.float64).reshape(-1)

    def ends(self, confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        lower, upper = self._steps(confidence, is_sampling)
        return tuple(end.reshape(-1) * float(self.step) for end in (lower, upper))  # type: ignore[return-value]

    def _steps(self, confidence: float, is_sampling: bool) -> tuple[IntArray, IntArray]:
        """In steps, around the released quantile; with sampling never nearer than the ends of the noise alone."""
        kinds = [self._walked(confidence, kind) for kind in ((False, True) if is_sampling else (False,))]
        lower = np.min([self.points, *(kind[0] for kind in kinds)], axis=0)
        return lower, np.max([self.points, *(kind[1] for kind in kinds)], axis=0)

    def _walked(self, confidence: float, is_sampling: bool) -> tuple[IntArray, IntArray]:
        """The ends that the counts certify, in steps."""
        tail = (1 - confidence) / 2
        if is_sampling and self.size is None:
            tail *= 1 - 2 * _OF_SIZE
        below = np.cumsum(self.counts, axis=1)[:, :-1]
        above = self.counts.sum(axis=1)[:, None] - below
        places, parts = range(1, self.counts.shape[1]), self.counts.shape[1]
        lower, upper = [], []
        for place, q in enumerate(self.qs):
            away = (q.denominator - q.numerator) * below - q.numerator * above
            alone = [Rank(a=q.numerator, b=q.denominator)] * len(self.counts)
            ranks = self._ranks(place, confidence) if is_sampling else alone
            by_rank = {rank: [reaches(self.noise, k, parts - k, rank, tail) for k in places] for rank in set(ranks)}
            reach = np.array([by_rank[rank] for rank in ranks])
            lower.append(self._first_end(away <= -reach[:, :, 0], is_lower=True))
            upper.append(self._first_end(away >= reach[:, :, 1], is_lower=False))
        # Two ends that exclude each other tell that one of them is wrong, not which.
        ends = np.stack([np.stack(lower, axis=1), np.stack(upper, axis=1)])
        return ends.min(axis=0), ends.max(axis=0)

    def _first_end(self, is_kept: Any, *, is_lower: bool) -> IntArray:
        """The last cut before the first that is not kept, or the declared bound."""
        cuts = self.cuts if is_lower else self.cuts[:, ::-1] - 1
        number = np.cumprod(is_kept if is_lower else is_kept[:, ::-1], axis=1).sum(axis=1)
        bound = self.low if is_lower else self.high
        chosen = np.where(number > 0, cuts[np.arange(len(cuts)), np.maximum(number - 1, 0)], bound)
        return np.clip(chosen, self.low, self.high)

    def _ranks(self, place: int, confidence: float) -> list[Rank]:
        """How the rank of a quantile varies from sample to sample, cell by cell."""
        a, b = self.qs[place].numerator, self.qs[place].denominator
        if self.squares is None:
            is_upper = self.size is None
            return [Rank(a=a, b=b, size=n, rows=self.rows, is_upper=is_upper) for n in self._sizes(confidence)]
        assert isinstance(self.squares.law, Additive), "squares of weights are measured with additive noise"
        law, unit, points = self.squares.law, float(self.unit), self.middles[:, [place]]
        cuts = cuts_around(self.middles).astype(np.float64)
        ends = np.pad(cuts, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
        is_below, is_above = ends[:, 1:] <= points, ends[:, :-1] > points
        factors = np.where(is_below, (b - a) ** 2, np.where(is_above, a**2, max(a, b - a) ** 2)).astype(np.float64)
        squares = (factors * self.squares.values.reshape(factors.shape)).sum(axis=1)
        # A sum of noise has no heavier tail than a single draw of the same variance.
        reach = -law.quantile((1 - confidence) * _OF_SIZE) * np.sqrt((factors**2).sum(axis=1))
        upper = unit * (np.maximum(squares, 0.0) + reach)
        return [Rank(a=a, b=b, rows=self.rows, squares=float(_rounded_up(max(ceil(each), 1)))) for each in upper]

    def _sizes(self, confidence: float) -> list[int]:
        """Public, or the upper end of what was released; rounded up to three digits, so that few laws are computed."""
        if self.size is not None:
            return [int(self.size)] * len(self.counts)
        if self.sizes is None or not isinstance(self.sizes.law, Additive):
            raise InternalError("A number of records that is not public is measured with additive noise.")
        least = self.sizes.law.quantile((1 - confidence) * _OF_SIZE)
        return [_rounded_up(max(int(n) - least, 1)) for n in self.sizes.values]


def _rounded_up(size: int) -> int:
    """
    >>> [_rounded_up(n) for n in (7, 999, 1001, 123456)]
    [7, 999, 1010, 124000]
    """
    unit = int(10 ** max(int(log10(size)) - 2, 0))
    return ceil(size / unit) * unit
