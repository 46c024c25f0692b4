"""How far intervals of quantiles are expected to reach: releases are drawn in cells whose values lie as a preview says.

What the drawn steps read is made of declared bounds and the expected number of records alone. The same draws, in units
of the noise, serve every amount: a preview is the same whenever it is made, and changes little with the amount.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import acosh, ceil, log, pi, sqrt
from typing import Any

import numpy as np

from dalenius.algebra.distributions import normal_numbers, two_sided
from dalenius.algebra.quantiles import Quantiles, cuts_around, cuts_of, middles_of
from dalenius.core.domain import Axis, Bounds, CellSpace
from dalenius.core.law import FloatArray, IntArray, Joint
from dalenius.core.release import Block
from dalenius.exact.quantile_selection import Aim, Records, score_runs
from dalenius.exact.several_quantiles import RankSelection, part_of, score_moves
from dalenius.measurements.grid_selection import GridSelection
from dalenius.measurements.noisy import Noisy
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics.point_counts import PointCounts

# Releases of each kind of cell, fewer where many points are selected.
_MOST, _FEWEST, _POINTS = 60, 8, 600
# Records of a drawn cell, at most so many times those that an interval reaches: margins of more are shorter by that.
_RECORDS, _REACHES = 10_000, 10
_FAR, _FINE = 40 * log(2), 10**9
# Pseudo-random numbers that replays of curves do not use.
_STREAM = 3
# The shape of values of which half are spread evenly, and the other half lie towards both ends.
ENDS = 0
_GOLDEN = (sqrt(5) - 1) / 2


@dataclass(frozen=True, kw_only=True)
class DrawnQuantiles:
    """The steps of a plan, with `size` where the number of records is not public and `squares` where rows have weights
    and sampling counts; and one cell of `records`, of which an interval reaches over some `ranks` to either side.
    """

    law: Joint
    size: Noisy | None
    points: GridSelection
    counts: Noisy
    squares: Noisy | None
    records: int
    ranks: int
    weight: Bounds | None
    has_sampling: bool

    def halves(self, values: int, weights: int, *, is_sampling: bool = False) -> FloatArray:
        """Half of each interval where values and weights have a shape: a line a release, a column a quantile."""
        points, qs = self.points, len(self.points.targets.qs)
        records = min(self.records, max(_RECORDS, _REACHES * self.ranks))
        listed, added = self._cell(records, values, weights)
        before, coarse = np.concatenate([[0], np.cumsum(added)]), listed // points.fineness
        many = max(min(_MOST, _POINTS // points.targets.count), _FEWEST)
        blocks, sizes = [], np.full((many, 1), before[-1])
        if self.size is not None:
            blocks = [_measured(self.size, sizes, _STREAM + 1)]
            sizes = blocks[0].values[:, None]
        chosen = _selected(points, Records(listed, before), np.maximum(sizes, 1).reshape(-1))
        parts = _between(coarse, before, cuts_of(chosen, qs))
        blocks += [_block(points.law, chosen), _measured(self.counts, parts, _STREAM + 2)]
        if self.squares is not None:
            statistic = self.squares.statistic
            assert isinstance(statistic, PointCounts), "squares are those of weights between points"
            squared = np.cumsum(statistic.added(added))
            parts = _between(coarse, np.concatenate([[0], squared]), cuts_around(middles_of(chosen, qs)))
            blocks.append(_measured(self.squares, parts, _STREAM + 3))
        public = {"size": records} if "size" in self.law.parameters else {}
        law = replace(self.law, parameters={**self.law.parameters, **public})
        lower, upper = Quantiles(law.parameters, blocks).ends(0.95, is_sampling)
        part = records / self.records
        return np.asarray((upper - lower).reshape(many, qs) / 2 * (sqrt(part) if is_sampling else part))

    def _cell(self, records: int, values: int, weights: int) -> tuple[IntArray, IntArray]:
        """Values in rising order, parted on the grid that they are selected on, and what each record counts."""
        points, turned = self.points, np.arange(1, records + 1) * _GOLDEN % 1
        low, high, fine = points.low, points.high, points.fineness
        spread = _spread((np.arange(records) + 0.5) / records, values)
        listed = low + np.floor((high - low + 1) * spread).astype(np.int64)
        listed = np.sort(listed * fine + np.floor(fine * turned).astype(np.int64))
        if self.weight is None:
            return listed, np.ones(records, dtype=np.int64)
        low, high = self.weight.low, self.weight.high
        return listed, low + np.floor((high - low + 1) * _spread(turned, weights)).astype(np.int64)


def share_of_median(cells: int, confidence: float) -> float:
    """Which quantile of one cell the median of so many independent cells keeps below with this probability.

    >>> [round(share_of_median(cells, 0.95), 2) for cells in (1, 6, 500)]
    [0.95, 0.73, 0.54]
    """
    from scipy.special import betaincinv

    place = (cells + 1) // 2
    return float(betaincinv(place, cells - place + 1, confidence))


def _spread(places: Any, shape: int) -> FloatArray:
    """Quantiles of a shape, in parts of the bounds."""
    if shape == ENDS:
        return np.asarray((places + np.sin(places * pi / 2) ** 2) / 2)
    return np.asarray(1 - (1 - places) ** (1 / shape))


def _selected(points: GridSelection, records: Records, sizes: IntArray) -> IntArray:
    """Points of every release, with one uniform number for each."""
    from scipy.special import ndtr

    uniform = ndtr(normal_numbers(points.targets.count, _STREAM)[: len(sizes)])
    sized = replace(points, sizes=tuple(sizes.tolist()))
    chosen = [_drawn(sized.selection(place, points.fineness), records, own) for place, own in enumerate(uniform)]
    return np.array(chosen, dtype=np.int64) // points.fineness


def _drawn(selection: RankSelection, records: Records, uniform: FloatArray) -> list[int]:
    """One grid point per target, as `RankSelection.draw` draws it, by weights in floating point."""
    count = len(selection.steps)
    answers: dict[int, int] = {-1: selection.low, count: selection.high}
    for step, place in zip(selection.steps, uniform.tolist(), strict=True):
        moved = score_moves(step, selection.most, selection.heaviest)
        rate = float(selection.epsilons[step.level] / (2 * moved))
        reach = ceil((_FAR + log(selection.high - selection.low + 1)) / rate)
        part = part_of(records, step, answers, count, is_open=selection.is_open)
        aim = Aim(
            parts=step.parts,
            rank=step.part * part.total + step.shift,
            depth=reach if selection.is_open else 0,
            grain=selection.grain(step),
        )
        firsts, lasts, scores = score_runs(part, answers[step.left], answers[step.right], aim, aim.depth + reach)
        logs = np.log(lasts - firsts + 1) - rate * scores
        sums = np.cumsum(np.exp(logs - logs.max()))
        run = min(int(np.searchsorted(sums, place * sums[-1], side="right")), len(sums) - 1)
        before = sums[run - 1] if run else 0.0
        within = (place * sums[-1] - before) / (sums[run] - before)
        first, last = int(firsts[run]), int(lasts[run])
        answers[step.target] = min(first + int(within * (last - first + 1)), last)
    return [answers[place] for place in range(count)]


def _between(values: IntArray, before: IntArray, cuts: IntArray) -> IntArray:
    """What the records between cuts count, release by release."""
    below = before[np.searchsorted(values, cuts)]
    return np.diff(below, axis=1, prepend=0, append=before[-1])


def _measured(step: Noisy, exact: IntArray, stream: int) -> Block:
    name, variance, law = step.mechanism.name, float(step.mechanism.variance), step.law
    is_normal = "gaussian" in name
    if not is_normal:
        # How far sums of truncated laws reach takes long to compute, and is about the same.
        law = replace(law, noise=DiscreteLaplace(Fraction(acosh(1 + 1 / variance)).limit_denominator(_FINE)))
    lines, columns = exact.shape
    normal = normal_numbers(columns, stream)[:lines]
    units = normal if is_normal else two_sided(normal)
    return _block(law, exact + np.rint(sqrt(variance) * units).astype(np.int64))


def _block(law: Any, values: IntArray) -> Block:
    space = CellSpace((Axis(variable="drawn", labels=tuple(map(str, range(values.size)))),))
    return Block(name="drawn", space=space, values=values.reshape(-1), law=law)
