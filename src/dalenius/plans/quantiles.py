"""Plans of quantiles of each cell: counts where they are not public, points at and beside all quantiles, and counts
between these.

The points are released before their counts are taken, and the price of the counts does not depend on them, so that the
prices add.
"""

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra.estimate_law import STRUCTURE
from dalenius.algebra.estimates import QUANTILES, estimated
from dalenius.algebra.points import PointTargets, Precision, cut_places
from dalenius.algebra.quantiles import cuts_of
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import RowFunction
from dalenius.core.rationals import plain
from dalenius.core.release import INTERQUARTILE, Block, Table
from dalenius.exact.quantile_selection import Score
from dalenius.measurements.grid_selection import GridSelection
from dalenius.measurements.noisy import Noisy
from dalenius.plans.cells import cell_queries
from dalenius.plans.design import design_law, public_size, sampling_notes, wants_sampling
from dalenius.plans.priced import priced, selection_epsilon, share
from dalenius.plans.sum_plan import CLIPPED, typical_records
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.statistics.point_counts import PointCounts

# Parts of the budget: for the number of records where it is not public, the quantiles, points beside them, and counts
# between points.
# With sampling any such split makes intervals of nearly the same width; this one keeps the quantiles themselves sharp.
SIZE, MIDDLE, BESIDE, COUNTS = (Fraction(part, 20) for part in (1, 8, 4, 7))
QUARTILES = (Fraction(1, 4), Fraction(3, 4))
FINENESS = 256


def _made_of(step: GridSelection | Noisy, released: tuple[Block, ...], count: int) -> GridSelection | Noisy:
    """Points at ranks that released counts say, or counts between the cuts that released points make."""
    values = released[-1].values
    if isinstance(step, GridSelection):
        return replace(step, sizes=tuple(max(int(n), 1) for n in values))
    assert isinstance(step.statistic, PointCounts)
    lists = values.reshape(step.statistic.cells.size, -1)
    cuts = tuple(map(tuple, cuts_of(lists, count).tolist()))
    return replace(step, statistic=replace(step.statistic, cuts=cuts))


def plan_quantiles(question: Question, qs: tuple[Fraction, ...], measure: str = "quantiles") -> TablePlan:
    """All quantiles of every cell, each between certified ends; one alone has no axis of its own but under
    `quantiles`.
    """
    bounds, neighbours = question.bounds, question.neighbours
    public = public_size(question)
    whole = 1 - SIZE if public is not None else Fraction(1)
    size = None
    if public is None:
        counting = Count(replace(question.query, function=RowFunction.present(question.of)))
        size = Noisy("count", counting, question.choose(counting.sensitivity(neighbours), share(question.budget, SIZE)))
    queries = cell_queries(question.domain, question.of, question.space, question.where)
    first = tuple(range(bounds.low, bounds.low + len(cut_places(len(qs)))))
    between = PointCounts(queries=queries, cells=question.space, cuts=(first,) * question.space.size)
    noise = question.choose(between.sensitivity(neighbours), share(question.budget, COUNTS / whole))
    counts = Noisy(f"records of {question.of} between points", between, noise)
    records, has_sampling = public or typical_records(question), wants_sampling(question)
    precision = Precision(
        count=sqrt(float(noise.variance)),
        size=0.0 if size is None else sqrt(float(size.mechanism.variance)),
        has_sampling=has_sampling,
    )
    targets = PointTargets(qs=qs, precision=precision)
    parts = zip((MIDDLE / whole, BESIDE / whole), targets.levels, strict=True)
    # Records that share a value are parted where several quantiles may fall on it, and only there.
    is_one = len(qs) == 1
    points = GridSelection(
        name=f"points of {question.of}",
        space=question.space,
        queries=queries,
        low=bounds.low,
        high=bounds.high,
        epsilons=tuple(selection_epsilon(share(question.budget, part), levels) for part, levels in parts),
        neighbours=neighbours,
        targets=targets,
        sizes=(records,) * question.space.size,
        step=bounds.step,
        score=Score.DEPTH if is_one else Score.DISTANCE,
        fineness=1 if is_one else FINENESS,
        role="points",
    )
    measurements = (*(() if size is None else (size,)), points, counts)
    law = _law(question, qs, public, has_sampling)
    return priced(
        question,
        measurements,
        lambda blocks: _tables(law, blocks, question, qs, measure),
        law=law,
        mechanism="grid_selection",
        strategy="quantiles",
        evidence=points.evidence,
        preview=_preview(question, points, targets, records),
        warnings=(CLIPPED, *sampling_notes(question)),
        limits=(float(bounds.lower), float(bounds.upper)),
        refusal=f"Selections do not fit {question.budget.definition!r}; use pure or zero_concentrated.",
        then=lambda step, released: _made_of(step, released, len(qs)),
    )


def _law(question: Question, qs: tuple[Fraction, ...], size: int | None, has_sampling: bool) -> Joint:
    """All that a reader needs to find the ends again from the released blocks."""
    bounds = question.bounds
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
        | design_law(question),
    )


def _preview(question: Question, points: GridSelection, targets: PointTargets, records: int) -> dict[str, Any]:
    """In ranks: how far a quantile is off, and how far its intervals are expected to reach in a cell of
    typical size.
    """
    rows, (middle, beside) = question.neighbours.max_rows, points.level_epsilons
    far = targets.offsets(records, (middle, beside), rows)
    scale = max(2 * float(max(q, 1 - q)) * rows / float(middle) for q in targets.qs)
    both = {"half_width_95_with_sampling": max(each[1] for each in far)} if targets.precision.has_sampling else {}
    return {
        "cells": question.space.size * len(targets.qs),
        "records": records,
        "half_width_95": max(each[0] for each in far),
        "rank_error": sqrt(2) * scale * sqrt(targets.levels[0]),
        "step": plain(points.step),
        **both,
    }


def _tables(
    law: Joint, blocks: tuple[Block, ...], question: Question, qs: tuple[Fraction, ...], measure: str
) -> tuple[Table, ...]:
    space = question.space
    shown, name = space, f"{measure} of {question.of}"
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
        name=name,
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
