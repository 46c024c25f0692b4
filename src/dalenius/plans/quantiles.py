"""Plans of quantiles of each cell: counts where they are not public, points at and beside all quantiles, and counts
between these.

The points are released before their counts are taken, and the price of the counts does not depend on them, so that the
prices add.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra.estimates import QUANTILES, STRUCTURE, estimated
from dalenius.algebra.points import Precision, cut_places, levels_beside
from dalenius.algebra.quantiles import cuts_of
from dalenius.algebra.ranks import levels
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import plain
from dalenius.core.release import INTERQUARTILE, Block, Outcome, Table, Value
from dalenius.errors import Unsupported
from dalenius.measurements.learned_bounds import cell_queries
from dalenius.measurements.noisy import Noisy
from dalenius.measurements.quantile_points import QuantilePoints
from dalenius.plans.design import design_law
from dalenius.plans.moments import CLIPPED, public_size, rows_with, sampling_notes, typical_records, wants_sampling
from dalenius.plans.priced import selection_epsilon, share
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.statistics.point_counts import PointCounts

# Parts of the budget: for the number of records where it is not public, the quantiles, points beside them, and counts
# between points.
# With sampling any such split makes intervals of nearly the same width; this one keeps the quantiles themselves sharp.
SIZE, MIDDLE, BESIDE, COUNTS = (Fraction(part, 20) for part in (1, 8, 4, 7))
QUARTILES = (Fraction(1, 4), Fraction(3, 4))


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantilesPlan(TablePlan):
    """First the counts, if they are measured; then points at ranks that these say; then counts between the points."""

    size: Noisy | None
    points: QuantilePoints
    counts: Noisy

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """Later measurements are made of earlier answers; their cost does not depend on them."""
        points = self.points
        if self.size is not None:
            answer = yield self.size
            if not isinstance(answer, Value):
                return
            points = replace(points, sizes=tuple(max(int(n), 1) for n in answer.values))
        chosen = yield points
        if isinstance(chosen, Value):
            yield self.between(chosen)

    def between(self, chosen: Value) -> Noisy:
        """Counts between the cuts that the points make."""
        lists = chosen.values.reshape(self.points.space.size, -1)
        cuts = tuple(map(tuple, cuts_of(lists, len(self.points.q)).tolist()))
        return replace(self.counts, statistic=replace(self.counts.statistic, cuts=cuts))  # type: ignore[type-var]


def plan_quantiles(question: Question, qs: tuple[Fraction, ...], measure: str = "quantiles") -> TablePlan:
    """All quantiles of every cell, each between certified ends; one alone has no axis of its own but under
    `quantiles`.
    """
    bounds, neighbours = question.bounds, question.neighbours
    public = public_size(question)
    whole = 1 - SIZE if public is not None else Fraction(1)
    size = None
    if public is None:
        counting = Count(rows_with(question))
        size = Noisy("count", counting, question.choose(counting.sensitivity(neighbours), share(question.budget, SIZE)))
    queries = cell_queries(question.domain, question.of, question.space, question.where)
    first = tuple(range(bounds.low, bounds.low + len(cut_places(len(qs)))))
    between = PointCounts(queries=queries, cells=question.space, cuts=(first,) * question.space.size)
    noise = question.choose(between.sensitivity(neighbours), share(question.budget, COUNTS / whole))
    counts = Noisy(f"records of {question.of} between points", between, noise)
    records, has_sampling = public or typical_records(question), wants_sampling(question)
    points = QuantilePoints(
        name=f"points of {question.of}",
        space=question.space,
        queries=queries,
        low=bounds.low,
        high=bounds.high,
        epsilon=selection_epsilon(share(question.budget, MIDDLE / whole), levels(len(qs))),
        beside=selection_epsilon(share(question.budget, BESIDE / whole), levels_beside(len(qs))),
        neighbours=neighbours,
        q=qs,
        sizes=(records,) * question.space.size,
        precision=Precision(
            count=sqrt(float(noise.variance)),
            size=0.0 if size is None else sqrt(float(size.mechanism.variance)),
            has_sampling=has_sampling,
        ),
        step=bounds.step,
    )
    measurements = (*(() if size is None else (size,)), points, counts)
    profiles = [m.profile(neighbours) for m in measurements]
    if not question.definition.fits(profiles, question.budget):
        raise Unsupported(f"Selections do not fit {question.budget.definition!r}; use pure or zero_concentrated.")
    law = _law(question, qs, public, has_sampling)
    return QuantilesPlan(
        measurements=measurements,
        assemble=lambda blocks: _tables(law, blocks, question, qs, measure),
        law=law,
        reservation=question.definition.cost(profiles),
        budget=question.budget,
        mechanism="exponential_quantile",
        strategy="quantiles",
        evidence=points.evidence,
        neighbours=neighbours,
        account=question.definition.account,
        preview=_preview(question, points, records),
        warnings=(*question.definition.warnings, CLIPPED, *sampling_notes(question)),
        limits=(float(bounds.lower), float(bounds.upper)),
        size=size,
        points=points,
        counts=counts,
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


def _preview(question: Question, points: QuantilePoints, records: int) -> dict[str, Any]:
    """In ranks: how far a quantile is off, and how far its intervals are expected to reach in a cell of
    typical size.
    """
    far = points.offsets(0)
    rows, (middle, _) = question.neighbours.max_rows, points.level_epsilons
    scale = max(2 * float(max(q, 1 - q)) * rows / float(middle) for q in points.q)
    both = {"half_width_95_with_sampling": max(each[1] for each in far)} if points.precision.has_sampling else {}
    return {
        "cells": question.space.size * len(points.q),
        "records": records,
        "half_width_95": max(each[0] for each in far),
        "rank_error": sqrt(2) * scale * sqrt(points.levels[0]),
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
