"""Shares of the budget and bases by predicted widths, from request, declaration and policy alone.

Half-widths of the interval that will be released are predicted in cells of two shapes, values spread evenly and values
skewed towards the lower bound. Shares are twentieths; all of them are judged at once, with the noise of the declared
layout scaled to each share. What is taken has the least larger ratio to the best of each shape, among shares for which
no width of either shape, of noise alone or with sampling, is larger than with the declared ones. Equal predictions, to
six digits, leave the plainer layout.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, repeat
from math import ceil

import numpy as np

from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.algebra.intervals import estimate
from dalenius.algebra.sums import MeasuredArrays, Sums
from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.sum_layouts import Layout
from dalenius.plans.sum_parts import SumPart
from dalenius.plans.sum_plan import MeasuredPart, SumPlan, Telling, forms_of, law_of, law_of_forms

# Shares are multiples of one over this; that of the error of sampling is at most a half.
PARTS = 20
_DIGITS = 6
_EQUAL = 1 + 10.0**-_DIGITS
# Less is not worth another layout.
_GAIN = 0.002
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
    return np.where(np.isfinite(halves), halves, np.inf).reshape(len(ends), -1, 2)


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
    least = (*(ceil(share * PARTS / 2) for share in layout.shares[:reads]), *(1,) * layout.spread)
    shares = _twentieths(least) / PARTS
    return np.asarray(shares[shares[:, reads:].sum(axis=1) <= 0.5])


def modelled(start: MeasuredLayout, layout: Layout, shares: FloatArray) -> FloatArray:
    """Half-widths of a layout for many choices of shares, as the noise of another one lets expect."""
    plan, neighbours, first = start.plan, start.plan.question.neighbours, start.parts[0].measurement.law
    own = start.layout.parts[0].statistic.sensitivity(neighbours)
    moved = [each.statistic.sensitivity(neighbours) for each in layout.parts]
    # The variance of normal noise goes with the square of the l2 norm, of any other with that of the l1 norm.
    if first.noise.name == _NORMAL:
        ratios = [float(one.l2_squared / own.l2_squared) for one in moved]
    else:
        ratios = [float(one.l1 / own.l1) ** 2 for one in moved]
    # The variance of noise for rho goes with one over it, any other with one over the square.
    power = 1 if plan.question.budget.rho is not None else 2
    variance = np.array(ratios) * first.noise.variance * (float(start.shares[0]) / shares) ** power
    arrays = [len(each.typical) for each in layout.parts]
    sums, products = forms_of(layout.parts, plan.size)
    measured = replace(
        MeasuredArrays.under(np.tile(_typical(plan, layout.parts), len(shares)), [first] * sum(arrays)),
        variance=np.repeat(np.repeat(variance.T, arrays, axis=0), 2, axis=1),
        laws=(),
    )
    return half_widths(plan, Sums(law_of_forms(plan, sums, products, 0.0), measured))


def _typical(plan: SumPlan, parts: Sequence[Telling]) -> FloatArray:
    """What is measured in a cell of each shape, without noise."""
    pairs = [each for part in parts for each in zip(part.typical, part.skewed, strict=True)]
    return np.asarray((plan.size or plan.question.records) * np.array(pairs))


def shared(start: MeasuredLayout, others: Sequence[Layout]) -> MeasuredLayout:
    """The layout and shares with the least predicted widths; the first one where none is clearly shorter."""
    layouts = [layout for layout in (start.layout, *others) if len(layout.parts) <= _MANY]
    if (len(start.parts) == 1 and not others) or not layouts:
        return start
    before = modelled(start, start.layout, np.array([start.shares], dtype=np.float64))[:, 0]
    candidates = []
    for layout in layouts:
        shares = choices(layout)
        widths = np.moveaxis(modelled(start, layout, shares), 1, 0)
        candidates += [(layout, own, w) for own, w in zip(shares, widths, strict=True) if np.all(w <= before * _EQUAL)]
    best = _least([widths for *_, widths in candidates], before)
    if best is None:
        return start
    layout, shares, _ = candidates[best]
    try:
        made = MeasuredLayout.of(start.plan, layout, tuple(Fraction(round(PARTS * each), PARTS) for each in shares))
    except (Unsupported, TooLarge):
        return start
    return made if np.all(made.widths <= start.widths * _EQUAL) else start


def _least(candidates: Sequence[FloatArray], before: FloatArray) -> int | None:
    """The place of the widths whose larger ratio to the best of each shape is least; None where nothing is gained."""
    if not candidates:
        return None
    widths = np.array(candidates)
    least = widths[:, -1].min(axis=0)
    # A shape in which no interval is finite tells nothing.
    is_known = np.isfinite(least) & (least > 0)
    ratios = np.max(widths[:, -1, is_known] / least[is_known], axis=1, initial=1.0)
    best = int(np.argmin(np.round(ratios, _DIGITS)))
    return None if np.all(widths[best] >= (1 - _GAIN) * before) else best
