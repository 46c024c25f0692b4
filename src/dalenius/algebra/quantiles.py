"""Quantiles of each cell between certified ends: released points, counts between their cuts, what both prove.

For a cut y, D(y) = #{x < y} - q n follows from the counts below and above it, with noise of a public law. The lower end
is found by walking through the cuts from the lowest up: a cut is kept while D + (reach of the noise) < 0, and the walk
stops at the first that is not. The upper end is found from the highest cut down. Where no cut is kept the end is the
declared bound.

Why it covers, whatever the ties, the grid and the points are. Let Q be a q-quantile: #{x < Q} <= q n <= #{x <= Q}. A
lower end above Q needs the *first* cut y > Q to be kept, because the walk passes it before any later one; and #{x < y}
>= #{x <= Q} >= q n there, so that keeping it is one event of the noise at one cut that was fixed before the noise was
drawn, of probability at most half the error. The upper end is the mirror image. With sampling Q is the quantile of the
process: #{x <= Q} is Binomial(n, p) with p >= q, which is added to the noise. No density of the data, no distance
between released values and no number of grid points takes part.

Requires
    Independent additive noise of a public law; cuts that were released before the counts; with sampling, records that
    are independent draws, or units that are (then all rows of a unit may be alike, and the sampling error is taken as
    normal).
Evidence
    verify/quantiles.py: coverage on smooth, heaped, rounded and zero-inflated values and on public files.
"""

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
# The part of the error that is left to a released number of records, where the number is not public.
_OF_SIZE = 1 / 40


def cuts_of(points: IntArray, count: int) -> IntArray:
    """Cuts of every cell in rising order, from the points of so many quantiles; one row a cell."""
    places = np.array(cut_places(count), dtype=np.int64)
    return np.sort(points[:, places[:, 0]] + places[:, 1], axis=1)


class Quantiles:
    """What a release of quantiles says, cell by cell and quantile by quantile (the last axis)."""

    counts: IntArray
    cuts: IntArray
    has_sampling: bool
    high: int
    low: int
    noise: Additive
    points: IntArray
    qs: list[Fraction]
    rows: int
    size: IntArray | None
    sizes: Block | None
    step: Fraction

    def __init__(self, parameters: Mapping[str, Any], blocks: Sequence[Block]) -> None:
        self.qs = [Fraction(q) for q in parameters["q"]]
        self.step = Fraction(str(parameters["step"]))
        self.low, self.high = (int(Fraction(str(end)) / self.step) for end in parameters["limits"])
        self.rows, self.has_sampling = rows_per_unit(parameters), bool(parameters.get("sampling", True))
        *first, selected, counted = blocks
        if not isinstance(counted.law, Additive):
            raise InternalError("Records between cuts are counted with additive noise.")
        self.noise = counted.law
        points = selected.values.reshape(-1, len(points_of(len(self.qs))))
        self.cuts = cuts_of(points, len(self.qs))
        self.counts = counted.values.reshape(len(points), -1)
        self.size, self.sizes = parameters.get("size"), first[0] if first else None
        middles = [place for place, point in enumerate(points_of(len(self.qs))) if not point.side]
        lower, upper = self._walked(CONFIDENCE, False)
        # A point that the counts exclude gives way to the nearest one that they do not.
        self.points = np.clip(points[:, middles], lower, upper)

    @property
    def values(self) -> FloatArray:
        """Of every quantile, flat."""
        return np.asarray(self.points * float(self.step), dtype=np.float64).reshape(-1)

    def variance(self, *, with_sampling: bool) -> FloatArray:
        """Of a normal law whose interval would reach as far as the longer side does; never below that of one step."""
        lower, upper = self._steps(CONFIDENCE, with_sampling)
        half = np.maximum(np.maximum(self.points - lower, upper - self.points), 1)
        z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
        return np.asarray((half * float(self.step) / z) ** 2, dtype=np.float64).reshape(-1)

    def ends(self, confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        """Of every quantile, flat."""
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
        sizes = self._sizes(confidence) if is_sampling else [0] * len(self.counts)
        if is_sampling and self.size is None:
            tail *= 1 - 2 * _OF_SIZE
        below = np.cumsum(self.counts, axis=1)[:, :-1]
        above = self.counts.sum(axis=1)[:, None] - below
        places, parts = range(1, self.counts.shape[1]), self.counts.shape[1]
        lower, upper = [], []
        for q in self.qs:
            away = (q.denominator - q.numerator) * below - q.numerator * above
            by_size = {}
            for n in set(sizes):
                rank = Rank(a=q.numerator, b=q.denominator, size=n, rows=self.rows, is_upper=self.size is None)
                by_size[n] = [reaches(self.noise, k, parts - k, rank, tail) for k in places]
            reach = np.array([by_size[n] for n in sizes])
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
