"""Shares of the budget and bases by predicted widths, from request, declaration and policy alone.

Half-widths of the interval that will be released are predicted in cells of three shapes: values spread evenly, skewed
towards the lower bound, and heaped near it. Shares are twentieths; all of them are judged at once, with noise that is
calibrated for some shares of each part, and between these by powers. What is taken has the least product of powers of
the widths of both intervals, over all shapes. Equal predictions, to six digits, leave the plainer layout.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, repeat
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra.estimate_law import INFLUENCE, EstimateLaw
from dalenius.algebra.intervals import estimate
from dalenius.algebra.sums import EXCESS, MeasuredArrays, Sums
from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.priced import share
from dalenius.plans.sum_layouts import Layout
from dalenius.plans.sum_parts import SumPart
from dalenius.plans.sum_plan import MeasuredPart, SumPlan, Telling, forms_of, law_of, law_of_forms

# Shares are multiples of one over this; that of the error of sampling is at most a half.
PARTS = 20
_DIGITS = 6
# Less, of the logarithm of a width, is not worth another layout.
_GAIN = 0.002
SHAPES = 3
# Squared influences take at least so many parts: what their noise hides is never stated as less than nothing.
_INFLUENCES = 6
# How much the interval of the noise counts, and that with sampling, which is shown first.
_WEIGHTS = (2, 3)
# For which shares the noise of a part is calibrated.
_CALIBRATED = tuple(Fraction(part, PARTS) for part in (1, 3, 8, PARTS))
# Of more parts shares are the declared ones.
_MANY = 6
_NORMAL = "discrete_gaussian"
Shares = tuple[Fraction, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredLayout:
    """Parts with noise, their law, and the half-widths predicted for them."""

    plan: SumPlan
    layout: Layout
    shares: Shares
    parts: tuple[MeasuredPart, ...]
    law: EstimateLaw

    @classmethod
    def of(cls, plan: SumPlan, layout: Layout, shares: Shares | None = None) -> "MeasuredLayout":
        """Every part with noise for its share, the declared one unless given."""
        shares = shares or layout.shares
        parts = tuple(map(SumPart.measured, layout.parts, repeat(plan.question), shares))
        return cls(plan=plan, layout=layout, shares=shares, parts=parts, law=law_of(plan, parts))

    @cached_property
    def widths(self) -> FloatArray:
        """Half-widths by kind of interval, noise first, and by shape."""
        laws = [part.measurement.law for part in self.parts for _ in part.typical]
        measured = MeasuredArrays.under(_typical(self.plan, self.parts), laws)
        return half_widths(self.plan, Sums(self.law, measured))[:, 0]


def half_widths(plan: SumPlan, sums: Sums) -> FloatArray:
    """By kind of interval, noise first; by choice of shares; and by shape, of cells that have the shapes in turn."""
    made = estimate(plan.estimator, sums)
    has_sampling = made.sampled is not None and sums.law.has_sampling
    ends = [made.ends(0.95, is_sampling) for is_sampling in ((False, True) if has_sampling else (False,))]
    halves = np.array([np.broadcast_to(upper - lower, sums.measured.values.shape[1]) / 2 for lower, upper in ends])
    return np.where(np.isfinite(halves), halves, np.inf).reshape(len(ends), -1, SHAPES)


@lru_cache
def _twentieths(least: tuple[int, ...]) -> IntArray:
    """All ways to share out so many parts, of which each gets at least so many."""
    many, left = len(least), PARTS - sum(least)
    bars = combinations(range(left + many - 1), many - 1)
    ends = np.array([(-1, *places, left + many - 1) for places in bars])
    return np.asarray(np.diff(ends, axis=1) - 1 + np.array(least))


def choices(layout: Layout) -> FloatArray:
    """Shares of the parts of a layout: at least half of the declared one for what the estimator reads, at most a half
    for the error of sampling.
    """
    reads = len(layout.parts) - layout.spread
    least = (
        *(ceil(share * PARTS / 2) for share in layout.shares[:reads]),
        *(_INFLUENCES if INFLUENCE in part.products else 1 for part in layout.parts[reads:]),
    )
    shares = _twentieths(least) / PARTS
    return np.asarray(shares[shares[:, reads:].sum(axis=1) <= 0.5])


def modelled(plan: SumPlan, layout: Layout, shares: FloatArray) -> FloatArray:
    """Half-widths of a layout for many choices of shares, as noise that is calibrated for a few lets expect."""
    noises = [_noise(plan, part, own) for part, own in zip(layout.parts, shares.T, strict=True)]
    variance, excess = np.repeat(np.swapaxes(noises, 0, 1), [len(each.typical) for each in layout.parts], axis=1)
    measured = MeasuredArrays(
        np.tile(_typical(plan, layout.parts), len(shares)),
        np.repeat(variance, SHAPES, axis=1),
        np.repeat(excess, SHAPES, axis=1),
    )
    sums, products = forms_of(layout.parts, plan.size)
    return half_widths(plan, Sums(law_of_forms(plan, sums, products, 0.0), measured))


def _noise(plan: SumPlan, part: SumPart, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variance and excess of the noise of a part for each share; infinite where that is refused."""
    question, calibrations = plan.question, []
    moved = part.statistic.sensitivity(question.neighbours)
    for each in _CALIBRATED:
        try:
            made = question.choose(moved, share(question.budget, each))
            calibrations.append((made.variance, 0.0 if made.name == _NORMAL else EXCESS))
        except (Unsupported, TooLarge):
            calibrations.append((np.inf, 0.0))
    variance, excess = np.array(calibrations).T
    between, calibrated = np.log(shares), np.log(np.array(_CALIBRATED, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        variance = np.exp(np.interp(between, calibrated, np.log(variance)))
    return np.where(np.isnan(variance), np.inf, variance), np.interp(between, calibrated, excess)


def _typical(plan: SumPlan, parts: Sequence[Telling]) -> FloatArray:
    """What is measured in a cell of each shape, without noise."""
    shapes = ((part.typical, part.skewed, (*part.tails, part.typical)[0]) for part in parts)
    return np.asarray((plan.size or plan.question.records) * np.concatenate([np.transpose(each) for each in shapes]))


def shared(start: MeasuredLayout, others: Sequence[Layout]) -> MeasuredLayout:
    """The layout and shares with the least predicted widths; the first one where none is clearly shorter."""
    layouts = [layout for layout in (start.layout, *others) if len(layout.parts) <= _MANY]
    if (len(start.parts) == 1 and not others) or not layouts:
        return start
    every = [choices(layout) for layout in layouts]
    pairs = zip(layouts, every, strict=True)
    widths = [np.moveaxis(modelled(start.plan, layout, shares), 1, 0) for layout, shares in pairs]
    # A shape in which no interval is finite tells nothing.
    least = np.min(np.concatenate([start.widths[None], *widths]), axis=0)
    is_known = np.isfinite(least) & (least > 0)
    judged = [np.round(_size(each, is_known), _DIGITS) for each in widths]
    for place in sorted(range(len(layouts)), key=lambda place: float(np.min(judged[place]))):
        shares = [Fraction(round(PARTS * each), PARTS) for each in every[place][np.argmin(judged[place])]]
        try:
            made = MeasuredLayout.of(start.plan, layouts[place], tuple(shares))
        except (Unsupported, TooLarge):
            continue
        before, after = _size(np.array([start.widths, made.widths]), is_known)
        return made if after < before - _GAIN else start
    return start


def _size(widths: FloatArray, is_known: NDArray[np.bool_]) -> FloatArray:
    """Mean logarithm of the widths of each choice over shapes and kinds."""
    weights = np.array(_WEIGHTS[: len(is_known)])[:, None] * is_known
    logs = np.log(np.where(is_known, widths, 1.0))
    return np.asarray((logs * weights).sum(axis=(1, 2)) / max(weights.sum(), 1))
