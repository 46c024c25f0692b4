"""Plans of quantiles of each cell: counts where they are not public, points at and beside all quantiles, and counts
between these.

The points are released before their counts are taken, and the price of the counts does not depend on them, so that the
prices add. Where rows count by weights, sums of weights take the place of counts, and for the error of sampling squared
weights are measured below, at and above each quantile.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra.estimate_law import STRUCTURE
from dalenius.algebra.estimates import QUANTILES, estimated
from dalenius.algebra.points import PointTargets, Precision, cut_places
from dalenius.algebra.quantiles import cuts_around, cuts_of, middles_of
from dalenius.algebra.shapes import EVEN, SKEWED
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Axis, Bounds, CellSpace
from dalenius.core.law import FloatArray, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import Power, RowFunction, RowsQuery, ValuesQuery
from dalenius.core.rationals import plain
from dalenius.core.release import INTERQUARTILE, Block, Table
from dalenius.exact.quantile_selection import Score
from dalenius.measurements.grid_selection import GridSelection
from dalenius.measurements.noisy import Noisy
from dalenius.plans.cells import cell_queries
from dalenius.plans.design import design_law, public_size, sampling_notes, wants_sampling
from dalenius.plans.drawn_quantiles import ENDS, DrawnQuantiles, share_of_median
from dalenius.plans.priced import priced, selection_epsilon, share
from dalenius.plans.sum_parts import SHAPES, WEIGHTS
from dalenius.plans.sum_plan import CLIPPED, by_upper_tail
from dalenius.plans.weighted import fixed_weight
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.statistics.point_counts import PointCounts
from dalenius.statistics.weighted_count import WeightedCount

# Parts of the budget: for the number of records where it is not public, the quantiles, points beside them, and counts
# between points.
# With sampling any such split makes intervals of nearly the same width; this one keeps the quantiles themselves sharp.
SIZE, MIDDLE, BESIDE, COUNTS = (Fraction(part, 20) for part in (1, 8, 4, 7))
# What squares of weights take of the other parts, and what the largest one is measured in.
SQUARES, GRID = Fraction(1, 8), 2**16
QUARTILES = (Fraction(1, 4), Fraction(3, 4))
FINENESS = 256
POINTS = "points"


@dataclass(frozen=True, kw_only=True)
class _CountedRows:
    """How rows are listed and counted: each once, or by a weight; `typical` is what one counts in a preview.

    `squares` is the expected sum of squared weights over that of weights: rather too large, because an offset that is
    too small leaves the end of an interval to a point much farther away.
    """

    queries: tuple[ValuesQuery | RowsQuery, ...]
    size: Count | WeightedCount
    heaviest: int | None = None
    typical: int = 1
    squares: int = 1
    weight: Bounds | None = None

    @classmethod
    def of(cls, question: Question) -> "_CountedRows":
        of, space, where = question.of, question.space, question.where
        present = Power(of, exponent=0)
        if question.weight is None:
            counting = Count(replace(question.query, function=RowFunction.of(present)))
            return cls(queries=cell_queries(question.domain, of, space, where), size=counting)
        weight, bounds = fixed_weight(question, of)
        function = RowFunction.of(Power(weight), present)
        return cls(
            queries=(RowsQuery(variables=(of, weight), where=where, space=space),),
            size=WeightedCount(query=replace(question.query, function=function), largest=bounds.high),
            heaviest=bounds.high,
            typical=max((bounds.low + bounds.high) // 2, 1),
            squares=-(-3 * bounds.high // 4),
            weight=bounds,
        )

    @property
    def step(self) -> Fraction:
        """What one counted unit is worth."""
        return Fraction(1) if self.weight is None else self.weight.step


def _made_of(step: GridSelection | Noisy, released: tuple[Block, ...], count: int) -> GridSelection | Noisy:
    """Points at ranks that released counts say, or counts between the cuts that released points make."""
    if isinstance(step, GridSelection):
        return replace(step, sizes=tuple(max(int(n), 1) for n in released[-1].values))
    assert isinstance(step.statistic, PointCounts)
    (points,) = (block.values for block in released if block.role == POINTS)
    lists = points.reshape(step.statistic.cells.size, -1)
    cuts = cuts_of(lists, count) if step.statistic.grid is None else cuts_around(middles_of(lists, count))
    return replace(step, statistic=replace(step.statistic, cuts=tuple(map(tuple, cuts.tolist()))))


def plan_quantiles(question: Question, qs: tuple[Fraction, ...], measure: str = "quantiles") -> TablePlan:
    """All quantiles of every cell, each between certified ends; one alone has no axis of its own but under
    `quantiles`.
    """
    bounds, neighbours, rows = question.bounds, question.neighbours, _CountedRows.of(question)
    is_weighted = rows.heaviest is not None
    public = None if is_weighted else public_size(question)
    has_sampling = wants_sampling(question, is_weighted=is_weighted)
    # What the other parts share.
    whole = (1 if public is None else 1 - SIZE) / (1 - SQUARES if is_weighted and has_sampling else Fraction(1))
    size = None
    if public is None:
        noise = question.choose(rows.size.sensitivity(neighbours), share(question.budget, SIZE / whole))
        size = Noisy("weighted count" if is_weighted else "count", rows.size, noise, rows.step)
    counts = _between(question, rows, len(cut_places(len(qs))), COUNTS / whole)
    records = public or question.records
    precision = Precision(
        count=sqrt(float(counts.mechanism.variance)),
        size=0.0 if size is None else sqrt(float(size.mechanism.variance)),
        sampling=float(neighbours.max_rows * rows.squares) if has_sampling else 0.0,
    )
    targets = PointTargets(qs=qs, precision=precision)
    points = _points(question, rows, targets, records * rows.typical, (MIDDLE / whole, BESIDE / whole))
    squares = _between(question, rows, 2 * len(qs), SQUARES, grid=GRID) if is_weighted and has_sampling else None
    steps: tuple[Measurement | None, ...] = (size, points, counts, squares)
    law = _law(question, rows, qs, public, has_sampling)
    drawn = DrawnQuantiles(
        law=law,
        size=size,
        points=points,
        counts=counts,
        squares=squares,
        records=records,
        ranks=_ranks(points, records, rows.typical),
        weight=rows.weight,
        has_sampling=has_sampling,
    )
    notes = (CLIPPED, *sampling_notes(question, is_weighted=is_weighted))
    if is_weighted:
        notes = (note("fixed_weights"), *notes, *((note("design_error"),) if has_sampling else ()))
    return priced(
        question,
        tuple(step for step in steps if step is not None),
        lambda blocks: _tables(law, blocks, question, qs, measure),
        law=law,
        mechanism="grid_selection",
        strategy="quantiles",
        evidence=points.evidence,
        preview=_preview(question, drawn),
        warnings=notes,
        limits=(float(bounds.lower), float(bounds.upper)),
        refusal=f"Selections do not fit {question.budget.definition!r}; use pure or zero_concentrated.",
        then=lambda step, released: _made_of(step, released, len(qs)),
    )


def _between(question: Question, rows: _CountedRows, cuts: int, part: Fraction, grid: int | None = None) -> Noisy:
    """Records between so many cuts, or their squared weights, before these are known."""
    first = tuple(range(question.bounds.low, question.bounds.low + cuts))
    statistic = PointCounts(
        queries=rows.queries,
        cells=question.space,
        cuts=(first,) * question.space.size,
        heaviest=rows.heaviest,
        grid=grid,
    )
    noise = question.choose(statistic.sensitivity(question.neighbours), share(question.budget, part))
    what = "records" if rows.heaviest is None else "weights" if grid is None else "squared weights"
    return Noisy(f"{what} of {question.of} between points", statistic, noise)


def _points(
    question: Question, rows: _CountedRows, targets: PointTargets, size: int, parts: tuple[Fraction, Fraction]
) -> GridSelection:
    """Quantiles, and the points beside them."""
    shares = zip(parts, targets.levels, strict=True)
    # Records that share a value are parted where several quantiles may fall on it, and only there.
    is_one = len(targets.qs) == 1
    return GridSelection(
        name=f"points of {question.of}",
        space=question.space,
        queries=rows.queries,
        low=question.bounds.low,
        high=question.bounds.high,
        epsilons=tuple(selection_epsilon(share(question.budget, part), levels) for part, levels in shares),
        neighbours=question.neighbours,
        targets=targets,
        sizes=(size,) * question.space.size,
        step=question.bounds.step,
        score=Score.DEPTH if is_one else Score.DISTANCE,
        fineness=1 if is_one else FINENESS,
        role=POINTS,
        heaviest=rows.heaviest,
    )


def _law(
    question: Question, rows: _CountedRows, qs: tuple[Fraction, ...], size: int | None, has_sampling: bool
) -> Joint:
    """All that a reader needs to find the ends again from the released blocks."""
    bounds, weighted = question.bounds, {}
    if rows.heaviest is not None:
        weighted = {"weight": plain(rows.step)}
        weighted |= {"squares": plain(Fraction(rows.heaviest**2, GRID))} if has_sampling else {}
    return Joint(
        STRUCTURE,
        {
            "estimate": QUANTILES,
            "q": [plain(q) for q in qs],
            "step": plain(bounds.step),
            "limits": [plain(bounds.lower), plain(bounds.upper)],
        }
        | ({} if size is None else {"size": size})
        | ({} if has_sampling else {"sampling": False})
        | weighted
        | design_law(question),
    )


def _ranks(points: GridSelection, records: int, typical: int) -> int:
    """Over how many records of a typical weight an interval with sampling reaches to either side, about."""
    assert isinstance(points.targets, PointTargets), "there are points beside quantiles"
    most = points.neighbours.max_rows * (points.heaviest or 1)
    offsets = points.targets.offsets(records * typical, points.level_epsilons, most)
    return -(-max(far for _, far, _ in offsets) // typical)


def _preview(question: Question, drawn: DrawnQuantiles) -> dict[str, Any]:
    """How far the intervals of a quantile reach in half of the releases, in a cell of typical size, and what the median
    cell keeps below in 95 of 100 of them; `ranks` is how many records that are where values are spread evenly.
    """
    bounds, many = question.bounds, len(drawn.points.targets.qs)
    even, skewed, *tails = (drawn.halves(shape, WEIGHTS[shape]) for shape in SHAPES)
    light = EVEN if drawn.weight is None else WEIGHTS[SKEWED]
    allowed = (even, skewed, *(drawn.halves(shape, light) for shape in (EVEN, ENDS)))
    half, width = _reached(even, 0.5), float(bounds.step) * (bounds.high - bounds.low + 1)
    share = share_of_median(question.space.size, 0.95)
    sampled = {}
    if drawn.has_sampling:
        sampled["half_width_95_with_sampling"] = _reached(drawn.halves(EVEN, EVEN, is_sampling=True), 0.5)
    return {
        "cells": question.space.size * many,
        "records": drawn.records,
        "half_width_95": half,
        "half_width_95_at_most": max(_reached(each, share) for each in allowed),
        "ranks": max(round(half / width * drawn.records), 1),
        **by_upper_tail([half, *(_reached(each, 0.5) for each in tails)]),
        "step": plain(drawn.points.step),
        **sampled,
    }


def _reached(halves: FloatArray, share: float) -> float:
    """What so many of the releases keep below, of the quantile for which it is largest."""
    return float(f"{np.quantile(halves, share, axis=0, method='higher').max():.9g}")


def _tables(
    law: Joint, blocks: tuple[Block, ...], question: Question, qs: tuple[Fraction, ...], measure: str
) -> tuple[Table, ...]:
    space = question.space
    shown, weighted = space, "" if question.weight is None else "weighted "
    if measure == "quantiles":
        axis = Axis(variable="quantile", labels=tuple(plain(q) for q in qs))
        zeros = frozenset((*cell, k) for cell in space.structural_zeros for k in range(len(qs)))
        shown = CellSpace((*space.axes, axis), zeros)
    made = estimated(law, blocks, shown.size)
    arrays = [made.values, made.variance, *(() if made.sampled is None else (made.sampled,))]
    arrays = [np.array(array, dtype=np.float64) for array in arrays]
    for array in arrays:
        array[list(shown.structural_indices)] = np.nan
    first = Table(
        name=f"{weighted}{measure} of {question.of}",
        space=shown,
        values=arrays[0],
        variance=arrays[1],
        measure=measure,
        is_unbiased=False,
        sampled=arrays[2] if len(arrays) > 2 else None,
    )
    return (first, *_interquartile(first, space, question.of, qs))


def _interquartile(first: Table, space: CellSpace, of: str, qs: tuple[Fraction, ...]) -> tuple[Table, ...]:
    """The distance of the quartiles, where both were asked for; errors of the two are added, whatever their
    correlation.
    """
    if not set(QUARTILES) <= set(qs):
        return ()
    low, high = (qs.index(q) for q in QUARTILES)

    def summed(variance: Any) -> Any:
        both = np.sqrt(variance.reshape(-1, len(qs)))
        return (both[:, low] + both[:, high]) ** 2

    values = first.values.reshape(-1, len(qs))
    return (
        Table(
            name=f"interquartile range of {of}",
            space=space,
            values=values[:, high] - values[:, low],
            variance=summed(first.variance),
            measure=INTERQUARTILE,
            is_unbiased=False,
            sampled=None if first.sampled is None else summed(first.sampled),
        ),
    )
