"""The exact law of steps that select: quantiles, labels and best cells by their definition, and answers that are
rounded and cut to a range.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import atan, comb, exp, log1p, pi, sqrt
from typing import Any

import numpy as np

from dalenius.algebra.ranks import Step
from dalenius.audit.losses import AnswerPart
from dalenius.core.law import FloatArray, IntArray
from dalenius.core.sealed import Sealed
from dalenius.errors import TooLarge
from dalenius.exact.order_statistics import rational_base
from dalenius.exact.quantile_selection import Score
from dalenius.exact.smooth_noise import Cauchy, LaplaceLogNormal, Polynomial, StudentT
from dalenius.measurements.approximate_quantiles import ApproximateQuantiles
from dalenius.measurements.exponential_quantile import ExponentialQuantile
from dalenius.measurements.exponential_selection import ExponentialSelection
from dalenius.measurements.permute_and_flip import PermuteAndFlip
from dalenius.measurements.quantile_points import QuantilePoints
from dalenius.measurements.quantile_table import QuantileTable
from dalenius.measurements.smooth import Smooth
from dalenius.measurements.unbounded_quantile import UnboundedQuantile
from dalenius.measurements.unbounded_quantile import chances as threshold_chances

Exact = tuple[Sealed[IntArray], ...]
_MOST_LISTS = 200_000


def selected(
    values: IntArray,
    low: int,
    high: int,
    q: Fraction,
    epsilon: Fraction,
    change: Fraction,
    score: Score = Score.DISTANCE,
) -> FloatArray:
    """Log-probabilities of an exponential mechanism over the grid, from its definition.

    The score of y is how many of q's parts it is away from the quantile, or by depth also how many it would have to
    move before it left y; its weight falls by exp(-epsilon / (2 change)). Lists here are far too short for the public
    end of depth.
    """
    return _ranked(
        np.clip(values, low, high),
        low,
        high,
        q.denominator,
        q.numerator * len(values),
        _rate(epsilon, change),
        least=0 if score is Score.DISTANCE else -(q.denominator * len(values)),
    )


def _rate(epsilon: Fraction, change: Fraction) -> float:
    """Integer weights are a little flatter than the exponential, by the base that they are made of."""
    return float(-np.log(float(rational_base(epsilon / (2 * change)))))


def _ranked(inside: IntArray, low: int, high: int, parts: int, rank: int, rate: float, least: int = 0) -> FloatArray:
    """Likewise for a rank that is counted in parts of a record."""
    points = np.arange(low, high + 1)
    less = (inside[None, :] < points[:, None]).sum(axis=1)
    upto = (inside[None, :] <= points[:, None]).sum(axis=1)
    weight = -rate * np.maximum(least, np.maximum(parts * less - rank, rank - parts * upto))
    return np.asarray(weight - np.logaddexp.reduce(weight))


def several(
    values: IntArray,
    low: int,
    high: int,
    steps: Sequence[Step],
    epsilons: Sequence[Fraction],
    rows: int,
    *,
    is_by_depth: bool = False,
) -> FloatArray:
    """Log-probabilities of every list of answers to several ranks, in an order that the values do not change.

    Each selection is among the points between two answers, of the values between them: those from the lower answer on
    and below the upper one, or by depth those above the lower answer and below the upper one.
    """
    count = len(steps)
    number = comb(high - low + count, count)
    if number > _MOST_LISTS:
        raise TooLarge("Too many lists of answers.", received=number, limit=_MOST_LISTS)
    inside, width = np.clip(values, low, high), high - low + 1
    # One column for each target, between those of the bounds, in steps above the lower one.
    lists = np.zeros((1, count + 2), dtype=np.int64)
    lists[:, -1] = width - 1
    chances = np.zeros(1)
    for step in steps:
        rate = _rate(epsilons[step.level], Fraction(max(step.part, step.parts - step.part) * rows))
        a, b = lists[:, step.left + 1], lists[:, step.right + 1]
        laws = np.zeros((width, width, width))
        for first, last in np.unique(np.stack([a, b], axis=1), axis=0).tolist():
            ends = (low + first, low + last)
            is_in = inside > ends[0] if is_by_depth and step.left >= 0 else inside >= ends[0]
            part = inside[is_in & ((inside < ends[1]) | (step.right == count))]
            rank = step.part * len(part) + step.shift
            least = -step.parts * len(part) if is_by_depth else 0
            laws[first, last, first : last + 1] = _ranked(part, *ends, step.parts, rank, rate, least)
        sizes = b - a + 1
        begun = np.repeat(np.arange(len(lists)), sizes)
        answer = np.arange(len(begun)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + a[begun]
        chances = chances[begun] + laws[a[begun], b[begun], answer]
        lists = lists[begun]
        lists[:, step.target + 1] = answer
    return np.asarray(chances)


def quantile(step: ExponentialQuantile, here: Exact, there: Exact) -> list[AnswerPart]:
    """One grid point."""
    change = step._change(step.neighbours)
    sides = [
        selected(e[0].open_below_the_gate(), step.low, step.high, step.q, step.epsilon, change, step.score)
        for e in (here, there)
    ]
    return [AnswerPart(sides[0], sides[1])]


def quantiles_by_cell(step: QuantileTable, here: Exact, there: Exact) -> list[AnswerPart]:
    """One grid point in each cell."""
    channels = []
    for i, both in enumerate(zip(here, there, strict=True)):
        if i in step.space.structural_indices:
            continue
        sides = [
            selected(e.open_below_the_gate(), step.low, step.high, step.q, step.cell_epsilon, step._change, step.score)
            for e in both
        ]
        channels.append(AnswerPart(sides[0], sides[1]))
    return channels


def several_quantiles(step: ApproximateQuantiles, here: Exact, there: Exact) -> list[AnswerPart]:
    """Every list of answers of a cell, on the grid of whole steps."""
    channels = []
    for cell, both in enumerate(zip(here, there, strict=True)):
        if cell in step.space.structural_indices:
            continue
        sides = [lists_of(step, e.open_below_the_gate(), cell) for e in both]
        channels.append(AnswerPart(sides[0], sides[1]))
    return channels


def lists_of(step: ApproximateQuantiles, values: IntArray, cell: int = 0) -> FloatArray:
    """Log-probabilities of every list of answers of one cell."""
    steps, rows = step.ranks(cell).steps, step.neighbours.max_rows
    return several(values, step.low, step.high, steps, step.epsilons, rows)


def points_by_cell(step: QuantilePoints, here: Exact, there: Exact) -> list[AnswerPart]:
    """Every list of points of a cell, on the grid of whole steps."""
    channels = []
    for cell, both in enumerate(zip(here, there, strict=True)):
        if cell in step.space.structural_indices:
            continue
        sides = [points_at(step, e.open_below_the_gate(), cell) for e in both]
        channels.append(AnswerPart(sides[0], sides[1]))
    return channels


def points_at(step: QuantilePoints, values: IntArray, cell: int) -> FloatArray:
    """Log-probabilities of every list of points of one cell."""
    return several(
        values,
        step.low,
        step.high,
        step.steps(cell),
        step.epsilons,
        step.neighbours.max_rows,
        is_by_depth=len(step.q) == 1,
    )


def flipped(step: PermuteAndFlip, here: Exact, there: Exact) -> list[AnswerPart]:
    """Candidates arrive at uniform times: r is chosen if its coin falls on heads and no earlier one's did.

    P(r) = h_r times the integral over t of the product of 1 - t h_i over the others, a polynomial that the quadrature
    sums exactly.
    """
    nodes, weights = np.polynomial.legendre.leggauss(24)
    times = (nodes + 1) / 2
    sides = []
    for side in (here, there):
        heads = np.exp(_scaled(step, side))
        alone = 1 - np.outer(times, heads)
        reached = np.stack([np.prod(np.delete(alone, r, axis=1), axis=1) for r in range(len(heads))])
        with np.errstate(divide="ignore"):
            sides.append(np.log(heads * (reached @ weights) / 2))
    return [AnswerPart(sides[0], sides[1])]


def exponential(step: ExponentialSelection, here: Exact, there: Exact) -> list[AnswerPart]:
    """Weights by score."""
    sides = [scores - np.logaddexp.reduce(scores) for scores in (_scaled(step, here), _scaled(step, there))]
    return [AnswerPart(sides[0], sides[1])]


def _scaled(step: Any, exact: Exact) -> FloatArray:
    """Scores of the possible cells in units of the choice, the best one at zero."""
    scores = step.sign * exact[0].open_below_the_gate().astype(np.float64)
    scores = np.delete(scores, list(step.query.space.structural_indices))
    return np.asarray(float(step.rate) * (scores - scores.max()))


def unbounded(step: UnboundedQuantile, here: Exact, there: Exact) -> list[AnswerPart]:
    """Where the search stops."""
    sides = [
        np.log(np.array([float(mass) for mass in threshold_chances(step, e[0].open_below_the_gate())]))
        for e in (here, there)
    ]
    return [AnswerPart(sides[0], sides[1])]


def smooth(step: Smooth, here: Exact, there: Exact) -> list[AnswerPart]:
    """Noise whose scale follows the data, rounded and cut."""
    sides = [_smooth_law(step, e[0].open_below_the_gate()) for e in (here, there)]
    return [AnswerPart(sides[0], sides[1])]


def _smooth_law(step: Smooth, values: IntArray) -> FloatArray:
    """round(f + scale S Z) cut to the bounds, by the distribution function of Z."""
    unit = getattr(step.statistic, "unit", 1)
    low, high = step.statistic.low * unit, step.statistic.high * unit
    size = step.statistic.smooth(values, rational_base(step.noise.beta), step.neighbours, step.least)
    centre, scale = float(step.statistic.value(values)), float(size * step.noise.scale)
    edges = [(k + 0.5 - centre) / scale for k in range(low, high)]
    below = [0.0, *(_distribution(step.noise, z) for z in edges), 1.0]
    above = [1.0, *(_distribution(step.noise, -z) for z in edges), 0.0]
    masses = [
        b - a if a < 0.5 else c - d for a, b, c, d in zip(below[:-1], below[1:], above[:-1], above[1:], strict=True)
    ]
    return np.asarray(np.log(np.array(masses)))


def _distribution(noise: Any, z: float) -> float:
    """P(Z <= z), accurate in the lower tail."""
    if isinstance(noise, Cauchy):
        return atan(-1 / z) / pi if z < -1 else 0.5 + atan(z) / pi
    if isinstance(noise, StudentT):
        from scipy.stats import t

        return float(t.cdf(z * sqrt(float(noise.nu)), float(noise.nu)))
    if isinstance(noise, Polynomial):
        from scipy.special import betainc

        # |z|^g / (1 + |z|^g) has a beta law; its upper tail is that of the complement.
        g = float(noise.g)
        tail = 0.5 * float(betainc(1 - 1 / g, 1 / g, 1 / (1 + abs(z) ** g)))
    elif isinstance(noise, LaplaceLogNormal):
        # Given the normal Y, the tail of X e^(sY) is that of Laplace noise; a sum over equal steps has no error that a
        # float shows.
        y = np.arange(-14.0, 30.0, 0.02)
        given = np.exp(-y * y / 2 - abs(z) * np.exp(-float(noise.s) * y))
        tail = 0.5 * 0.02 * float(given.sum()) / sqrt(2 * pi)
    else:
        tail = 0.5 * exp(-(float(noise.k) - 1) * log1p(abs(z)))
    return tail if z < 0 else 1 - tail
