"""Exact laws of quantiles that are selected one after the other, listed for short lists of values on short grids."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb, perm

import numpy as np

from dalenius.core.integer_law import Listed
from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import TooLarge
from dalenius.exact import several_quantiles
from dalenius.exact.order_statistics import rational_base
from dalenius.exact.several_quantiles import RankStep
from dalenius.measurements.blocks.blocks import Blocks, Reports

_MOST_LISTS = 200_000
# All partitions of so many records are gone through.
_MOST_PARTED = 7


def listed_quantiles(
    values: IntArray,
    low: int,
    high: int,
    steps: Sequence[RankStep],
    epsilons: Sequence[Fraction],
    rows: int,
    *,
    is_by_depth: bool = False,
) -> Listed:
    """Every rising list of answers to several ranks, by the definition of the score.

    Each selection is among the points between two answers, of the values between them: those from the lower answer on
    and below the upper one, or by depth those above the lower answer and below the upper one. Short lists are far from
    the public end of depth.
    """
    count = len(steps)
    number = comb(high - low + count, count)
    if number > _MOST_LISTS:
        raise TooLarge("Too many lists of answers.", received=number, limit=_MOST_LISTS)
    inside, width = np.clip(values, low, high), high - low + 1
    # One column for each target, between those of the bounds, in steps above the lower one.
    lists = np.zeros((1, count + 2), dtype=np.int64)
    lists[:, -1] = width - 1
    logs = np.zeros(1)
    for step in steps:
        # Integer weights are a little flatter than the exponential, by the base that they are made of.
        rate = -np.log(float(rational_base(epsilons[step.level] / (2 * several_quantiles.score_moves(step, rows)))))
        a, b = lists[:, step.left + 1], lists[:, step.right + 1]
        laws = np.zeros((width, width, width))
        for first, last in (divmod(pair, width) for pair in np.unique(a * width + b).tolist()):
            is_in = inside > low + first if is_by_depth and step.left >= 0 else inside >= low + first
            part = inside[is_in & ((inside < low + last) | (step.right == count))]
            laws[first, last, first : last + 1] = _chosen(part, low + first, low + last, step, rate, is_by_depth)
        sizes = b - a + 1
        begun = np.repeat(np.arange(len(lists)), sizes)
        answer = np.arange(len(begun)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + a[begun]
        logs = logs[begun] + laws[a[begun], b[begun], answer]
        lists = lists[begun]
        lists[:, step.target + 1] = answer
    return Listed(lists[:, 1:-1] + low, np.asarray(logs))


def _chosen(inside: IntArray, low: int, high: int, step: RankStep, rate: float, is_by_depth: bool) -> FloatArray:
    """Log-probabilities of one selection: a point's weight falls with the parts of a record that it is away from the
    rank.
    """
    points, rank = np.arange(low, high + 1), step.part * len(inside) + step.shift
    less = (inside[None, :] < points[:, None]).sum(axis=1)
    upto = (inside[None, :] <= points[:, None]).sum(axis=1)
    least = -step.parts * len(inside) if is_by_depth else 0
    weight = -rate * np.maximum(least, np.maximum(step.parts * less - rank, rank - step.parts * upto))
    return np.asarray(weight - np.logaddexp.reduce(weight))


def reports_of(blocks: Blocks, values: IntArray) -> Iterator[tuple[Reports, float]]:
    """What the blocks report for every way to part the records, and its probability; which block is which tells
    nothing.
    """
    n = len(values)
    if n > _MOST_PARTED:
        raise TooLarge("Too many partitions to be gone through.", received=n, limit=_MOST_PARTED)
    for places in _partitions(n, blocks.count):
        chance = perm(blocks.count, 1 + max(places, default=-1)) / blocks.count**n
        yield blocks.reports(values, np.array(places, dtype=np.int64)), chance


def _partitions(length: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every partition of a list once: each entry is in a part before it, or in the next new one."""
    if not length:
        yield ()
        return
    for begun in _partitions(length - 1, most):
        for part in range(min(2 + max(begun, default=-1), most)):
            yield (*begun, part)
