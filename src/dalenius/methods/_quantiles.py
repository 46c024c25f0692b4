"""Plans of several quantiles of each cell: the counts where they are not public, then all quantiles at once."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np

from dalenius.core.contracts import Measurement
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Table, Value
from dalenius.errors import Unsupported
from dalenius.linear.estimates import STRUCTURE, estimated
from dalenius.linear.ranks import levels
from dalenius.measurements.approximate_quantiles import ApproximateQuantiles
from dalenius.measurements.learned_bounds import cell_queries
from dalenius.measurements.noisy import Noisy
from dalenius.methods._design import design_law
from dalenius.methods._moments import (
    CLIPPED,
    public_size,
    rows_with,
    sampling_notes,
    typical_records,
    wants_sampling,
)
from dalenius.methods._priced import selection_epsilon, share
from dalenius.spec.question import Question
from dalenius.statistics.count import Count

SHARE_FOR_COUNTS = Fraction(1, 20)
QUARTILES = (Fraction(1, 4), Fraction(3, 4))


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantilesPlan(TablePlan):
    """First the counts, if they are measured, then quantiles at ranks that the released counts say."""

    selection: ApproximateQuantiles
    count: Noisy | None

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The second measurement is made of the first answer; its cost does not depend on it."""
        if self.count is None:
            yield self.selection
            return
        answer = yield self.count
        if isinstance(answer, Value):
            yield replace(self.selection, sizes=tuple(max(int(n), 1) for n in answer.values))


def plan_quantiles(question: Question, qs: tuple[Fraction, ...]) -> TablePlan:
    """All quantiles of every cell, each between its ends unless the error of the noise alone is asked for."""
    bounds, near, budget = question.bounds, question.neighbours, question.budget
    size = public_size(question)
    counting = Count(rows_with(question))
    count = None
    if size is None:
        part = share(budget, SHARE_FOR_COUNTS)
        count = Noisy("count", counting, question.choose(counting.sensitivity(near), part))
        budget = share(budget, 1 - SHARE_FOR_COUNTS)
    records = size or typical_records(question)
    has_ends = wants_sampling(question)
    if not has_ends and len(qs) < 2:
        raise Unsupported(
            'One quantile has no error without its ends; leave error = "noise" out.', key="error"
        )
    selection = ApproximateQuantiles(
        name=f"quantiles of {question.of}",
        space=question.space,
        queries=cell_queries(question.domain, question.of, question.space, question.where),
        low=bounds.low,
        high=bounds.high,
        epsilon=selection_epsilon(budget, levels((3 if has_ends else 1) * len(qs))),
        neighbours=near,
        q=qs,
        sizes=(records,) * question.space.size,
        step=bounds.step,
        has_ends=has_ends,
    )
    measurements = ((count,) if count else ()) + (selection,)
    profiles = [m.profile(near) for m in measurements]
    if not question.definition.fits(profiles, question.budget):
        raise Unsupported(
            f"Several selections do not fit {question.budget.definition!r}; use pure or zero_concentrated."
        )
    level, rows = selection.level_epsilon, near.max_rows
    law = Joint(
        STRUCTURE,
        {
            "estimate": "quantiles",
            "q": [plain(q) for q in qs],
            "epsilon": plain(level),
            "rows": rows,
            "step": plain(bounds.step),
            "limits": [plain(bounds.lower), plain(bounds.upper)],
        }
        | ({} if size is None else {"size": size})
        | ({} if has_ends else {"ends": False})
        | design_law(question),
    )
    largest = sqrt(max(selection.ranks(0).noise))
    return QuantilesPlan(
        measurements=measurements,
        assemble=lambda blocks: _tables(law, blocks, question.space, question.of, qs),
        law=law,
        reservation=question.definition.cost(profiles),
        budget=question.budget,
        mechanism="exponential_quantile",
        strategy="quantiles",
        evidence=selection.evidence,
        neighbours=near,
        page=question.definition.page,
        preview={
            "cells": question.space.size * len(qs),
            "records": records,
            "half_width_95": 2.16 * largest,
            "rank_error": largest,
            "step": plain(bounds.step),
        },
        warnings=(*question.definition.warnings, CLIPPED, *sampling_notes(question)),
        limits=(float(bounds.lower), float(bounds.upper)),
        selection=selection,
        count=count,
    )


def _tables(
    law: Joint, blocks: tuple[Block, ...], space: CellSpace, of: str, qs: tuple[Fraction, ...]
) -> tuple[Table, ...]:
    axis = Axis(variable="quantile", labels=tuple(plain(q) for q in qs))
    zeros = frozenset((*cell, k) for cell in space.structural_zeros for k in range(len(qs)))
    shown = CellSpace((*space.axes, axis), zeros)
    made = estimated(law, blocks, shown.size)
    arrays = [np.array(a, dtype=np.float64) for a in (made.values, made.variance)]
    sampled = None if made.sampled is None else np.array(made.sampled, dtype=np.float64)
    for array in (*arrays, *(() if sampled is None else (sampled,))):
        array[list(shown.structural_indices)] = np.nan
    values, variance = arrays
    first = Table(
        name=f"quantiles of {of}",
        space=shown,
        values=values,
        variance=variance,
        measure="quantiles",
        is_unbiased=False,
        sampled=sampled,
    )
    return (first, *_interquartile(first, space, of, qs))


def _interquartile(first: Table, space: CellSpace, of: str, qs: tuple[Fraction, ...]) -> tuple[Table, ...]:
    """The distance of the quartiles, where both were asked for; their ranks have a correlation of one third."""
    if not set(QUARTILES) <= set(qs):
        return ()
    low, high = (qs.index(q) for q in QUARTILES)
    values, variance = (a.reshape(-1, len(qs)) for a in (first.values, first.variance))
    noise, sampled = variance[:, low] + variance[:, high], None
    if first.sampled is not None:
        both = first.sampled.reshape(-1, len(qs))
        apart = [np.sqrt(np.maximum(both[:, k] - variance[:, k], 0.0)) for k in (low, high)]
        sampled = noise + apart[0] ** 2 + apart[1] ** 2 - 2 / 3 * apart[0] * apart[1]
    return (
        Table(
            name=f"interquartile range of {of}",
            space=space,
            values=values[:, high] - values[:, low],
            variance=noise,
            measure="interquartile range",
            is_unbiased=False,
            sampled=sampled,
        ),
    )
