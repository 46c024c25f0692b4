"""Exact laws of quantiles that are selected one after the other, listed for short lists of values on short grids."""

from collections.abc import Iterator, Sequence
from math import log, perm

import numpy as np

from dalenius.core.integer_law import Listed
from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import TooLarge
from dalenius.exact.quantile_selection import Records
from dalenius.exact.several_quantiles import RankSelection, RankStep
from dalenius.measurements.blocks.blocks import Blocks, Reports

_MOST_LISTS = 200_000
# All partitions of so many records are gone through.
_MOST_PARTED = 7


def listed_quantiles(selection: RankSelection, lists: Sequence[Records]) -> Listed:
    """Every list of answers to several ranks, by the definition of the score and the integer weights.

    Each selection is among the points between two answers, of the values between them: those from the lower answer on
    and below the upper one, or by depth those above the lower answer and below the upper one.
    """
    count, low, width = len(selection.steps), selection.low, selection.high - selection.low + 1
    # One column for each target, between those of the bounds, in steps above the lower one.
    answers = np.zeros((1, count + 2), dtype=np.int64)
    answers[:, -1] = width - 1
    logs = np.zeros(1)
    for step, records in zip(selection.steps, lists, strict=True):
        a, b = answers[:, step.left + 1], answers[:, step.right + 1]
        sizes = b - a + 1
        if sizes.sum() > _MOST_LISTS:
            raise TooLarge("Too many lists of answers.", received=int(sizes.sum()), limit=_MOST_LISTS)
        values, weights = records.values, np.diff(records.counts(np.arange(len(records.values) + 1)))
        laws = np.zeros((width, width, width))
        for first, last in (divmod(pair, width) for pair in np.unique(a * width + b).tolist()):
            is_open = selection.is_open and step.left >= 0
            is_in = values > low + first if is_open else values >= low + first
            is_in &= (values < low + last) | (step.right == count)
            law = _chosen(values[is_in], weights[is_in], low + first, low + last, step, selection)
            laws[first, last, first : last + 1] = law
        begun = np.repeat(np.arange(len(answers)), sizes)
        answer = np.arange(len(begun)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + a[begun]
        logs = logs[begun] + laws[a[begun], b[begun], answer]
        answers = answers[begun]
        answers[:, step.target + 1] = answer
    return Listed(answers[:, 1:-1] + low, np.asarray(logs))


def _chosen(
    inside: IntArray, weights: IntArray, low: int, high: int, step: RankStep, selection: RankSelection
) -> FloatArray:
    """Log-probabilities: a point's weight falls with the parts of a record that it is away from the rank."""
    points, rank = np.arange(low, high + 1), step.part * int(weights.sum()) + step.shift
    less = (inside[None, :] < points[:, None]) @ weights
    upto = (inside[None, :] <= points[:, None]) @ weights
    score = np.maximum(step.parts * less - rank, rank - step.parts * upto) // selection.grain(step)
    w = selection.weights(step)
    weight = np.array([log(w[place]) for place in np.clip(score + w.depth, 0, len(w) - 1)])
    return np.asarray(weight - np.logaddexp.reduce(weight))


def reports_of(blocks: Blocks, values: IntArray) -> Iterator[tuple[Reports, float]]:
    """What the blocks report for every way to part the records, and its probability."""
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
