"""Totals whose bounds are learned privately, cell by cell, for a declared share of the budget: a plan of two steps.

Step one releases an upper quantile of |x| in each cell; step two clips every row to the released bound of its cell and
adds noise in proportion to that bound. The second step depends on the first *answer*, never on data, and both are
reserved at their worst case, which is known beforehand: the cost does not depend on the bounds.
"""

from dataclasses import replace
from fractions import Fraction
from math import log, sqrt

import numpy as np

from dalenius.algebra.ranks import WholeList
from dalenius.core.law import Joint
from dalenius.core.plan import TwoStepPlan
from dalenius.core.rationals import rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.quantile_selection import Score
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.grid_selection import GridSelection
from dalenius.plans.cells import cell_queries
from dalenius.plans.sum_plan import UPPER_TAILS, by_upper_tail
from dalenius.spec.notes import note
from dalenius.spec.question import Question

DEFAULT_SHARE = Fraction(15, 100)
QUANTILE = Fraction(95, 100)


def plan_learned_bounds(question: Question) -> TwoStepPlan:
    """Price both steps; a share of epsilon goes to the bounds, which aim at the 95 % quantile of |x|."""
    budget, neighbours, bounds = question.budget, question.neighbours, question.bounds
    if question.margins is not None:
        raise Unsupported(
            "Bounds are learned in each cell, and totals of cells that are cut at different bounds do not add up. "
            "Leave margins or learn out.",
            key="margins",
        )
    if budget.epsilon is None:
        raise ParameterError("Totals with learned bounds need epsilon.", name="epsilon")
    part = rational(question.parameter("learn", DEFAULT_SHARE), "learn")
    if not 0 < part < 1:
        raise ParameterError("learn is a share between 0 and 1.", name="learn")
    touched = neighbours.max_rows * (2 if neighbours.is_replace else 1)
    largest = max(abs(bounds.low), abs(bounds.high), 1)
    queries = cell_queries(question.domain, question.of, question.space, question.where)
    first = GridSelection(
        name=f"bounds of {question.of}",
        space=question.space,
        queries=queries,
        low=0,
        high=largest,
        epsilons=(budget.epsilon * part,),
        neighbours=neighbours,
        targets=WholeList(qs=(QUANTILE,)),
        score=Score.DISTANCE,
        is_absolute=True,
        role="bounds",
    )
    epsilon = budget.epsilon * (1 - part) / touched
    worst = ClippedTotals(
        name=f"total of {question.of}",
        space=question.space,
        queries=queries,
        bounds=(largest,) * question.space.size,
        epsilon=epsilon,
    )
    error = float(np.sqrt(worst.variances.max())) * float(bounds.step)
    profiles = [first.profile(neighbours), worst.profile(neighbours)]
    if not question.definition.fits(profiles, budget):
        raise Unsupported(f"Learned bounds do not fit {budget.definition!r} at this budget.")
    return TwoStepPlan(
        measurements=(first, worst),
        assemble=lambda blocks: _shown(blocks, _clipped(worst, blocks), bounds.step),
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
            "largest_std_error": error,
            # The 95 % point of Laplace noise, which is in proportion to the released bound.
            **by_upper_tail([error * log(20) / sqrt(2) * float(Fraction(tail)) for tail in UPPER_TAILS]),
        },
        warnings=(note("learned_bounds"),),
        then=_clipped,
    )


def _clipped(totals: ClippedTotals, released: tuple[Block, ...]) -> ClippedTotals:
    return replace(totals, bounds=tuple(int(bound) for bound in released[0].values))


def _shown(blocks: tuple[Block, ...], second: ClippedTotals, step: Fraction) -> tuple[Table, ...]:
    learned, totals = blocks
    variance, unit = second.variances, float(step)
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
