"""Totals whose bounds are learned privately, cell by cell, for a declared share of the budget: a plan of two steps.

Step one releases an upper quantile of |x| in each cell; step two clips every row to the released bound of its cell and
adds noise in proportion to that bound. The second step depends on the first *answer*, never on data, and both are
reserved at their worst case, which is known beforehand: the cost does not depend on the bounds.
"""

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.core.contracts import Measurement
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.core.release import Block, Outcome, Table, Value
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.learned_bounds import LearnedBounds, cell_queries
from dalenius.spec.notes import note
from dalenius.spec.question import Question

DEFAULT_SHARE = Fraction(15, 100)
QUANTILE = Fraction(95, 100)


@dataclass(frozen=True, kw_only=True, repr=False)
class LearnedBoundsPlan(TablePlan):
    """First the bounds, then the totals clipped to them."""

    first: LearnedBounds
    epsilon: Fraction

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The second measurement is made of the first answer."""
        answer = yield self.first
        if isinstance(answer, Value):
            yield self.second(tuple(int(b) for b in answer.values))

    def second(self, bounds: tuple[int, ...]) -> ClippedTotals:
        """The totals clipped to released bounds."""
        return ClippedTotals(
            name=self.first.name.replace("bounds", "total"),
            space=self.first.space,
            queries=self.first.queries,
            bounds=bounds,
            epsilon=self.epsilon,
        )


def plan_learned_bounds(question: Question) -> LearnedBoundsPlan:
    """Price both steps; a share of epsilon goes to the bounds, which aim at the 95 % quantile of |x|."""
    budget, neighbours, bounds = question.budget, question.neighbours, question.bounds
    if budget.epsilon is None:
        raise ParameterError("Totals with learned bounds need epsilon.", name="epsilon")
    part = rational(question.parameter("learn_bounds", DEFAULT_SHARE), "learn_bounds")
    if not 0 < part < 1:
        raise ParameterError("learn_bounds is a share between 0 and 1.", name="learn_bounds")
    touched = neighbours.max_rows * (2 if neighbours.is_replace else 1)
    largest = max(abs(bounds.low), abs(bounds.high), 1)
    first = LearnedBounds(
        name=f"bounds of {question.of}",
        space=question.space,
        queries=cell_queries(question.domain, question.of, question.space, question.where),
        largest=largest,
        epsilon=budget.epsilon * part / touched,
        q=QUANTILE,
    )
    epsilon = budget.epsilon * (1 - part) / touched
    worst = ClippedTotals(
        name=f"total of {question.of}",
        space=question.space,
        queries=first.queries,
        bounds=(largest,) * question.space.size,
        epsilon=epsilon,
    )
    profiles = [first.profile(neighbours), worst.profile(neighbours)]
    if not question.definition.fits(profiles, budget):
        raise Unsupported(f"Learned bounds do not fit {budget.definition!r} at this budget.")
    plan = LearnedBoundsPlan(
        measurements=(first, worst),
        assemble=lambda blocks: _shown(blocks, plan, bounds.step),
        law=Joint("independent", {"family": "discrete_laplace", "rates": "released with the bounds"}),
        reservation=question.definition.cost(profiles),
        budget=budget,
        mechanism="discrete_laplace",
        strategy="learned_bounds",
        evidence=worst.evidence,
        neighbours=neighbours,
        preview={
            "cells": question.space.size,
            "share": str(part),
            "q": str(QUANTILE),
            "largest_std_error": float(np.sqrt(worst.variances.max())) * float(bounds.step),
        },
        warnings=(note("learned_bounds"),),
        first=first,
        epsilon=epsilon,
    )
    return plan


def _shown(blocks: tuple[Block, ...], plan: LearnedBoundsPlan, step: Fraction) -> tuple[Table, ...]:
    learned, totals = blocks
    variance = plan.second(tuple(int(b) for b in learned.values)).variances
    unit = float(step)
    return (
        Table(
            name=totals.name,
            space=totals.space,
            values=np.asarray(totals.values * unit, dtype=np.float64),
            variance=variance * unit**2,
            measure="clipped total",
            is_unbiased=False,
        ),
        Table(
            name=learned.name,
            space=learned.space,
            values=np.asarray(learned.values * unit, dtype=np.float64),
            variance=np.full(learned.space.size, np.nan),
            measure="bound",
            is_unbiased=False,
        ),
    )
