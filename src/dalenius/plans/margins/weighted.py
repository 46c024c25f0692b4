"""Lists of weighted counts, with the error of the design where it is known.

A list of weighted counts is two lists: of sums of weights, and of sums of their squares. The design variance of a cell,
as if its records had been drawn with replacement, is its sum of squared weights, between the smallest and the largest
declared weight times the sum of weights; it is used where the noise of the squares is at most half of it.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from dalenius.algebra.amounts import Amounts
from dalenius.core.domain import Bounds
from dalenius.core.law import WEIGHTED_LIST, FloatArray, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.release import Block, Table
from dalenius.plans.design import design_law, design_notes
from dalenius.plans.margins.plan import plan_margins
from dalenius.plans.priced import named_steps, priced, share
from dalenius.plans.weighted import SHARE_FOR_VARIANCE, fixed_weight
from dalenius.spec.notes import note
from dalenius.spec.question import Question

# The design variance is used where its noise has at most this share of it as standard error.
KNOWN = 0.5


def plan_weighted_list(question: Question) -> TablePlan:
    """Sums of weights and of squared weights of every margin, priced as one."""
    weight, bounds = fixed_weight(question)
    counts, squares = (
        plan_margins(question, Amounts.weights(weight, bounds, power), share(question.budget, part))
        for power, part in ((1, 1 - SHARE_FOR_VARIANCE), (2, SHARE_FOR_VARIANCE))
    )
    is_stated = question.domain.draws.has_sampling(is_weighted=True)
    rows = question.domain.neighbours.max_rows if is_stated else 0
    return priced(
        question,
        (*named_steps("weighted counts", counts), *named_steps("squared weights", squares)),
        partial(_tables, counts, squares, bounds, rows),
        law=Joint(
            WEIGHTED_LIST,
            {
                "weights": [str(bounds.lower), str(bounds.upper)],
                "blocks": [len(counts.measurements), len(squares.measurements)],
                "counts": counts.law.to_dict(),
                "squares": squares.law.to_dict(),
            }
            | design_law(question),
        ),
        mechanism=counts.mechanism,
        strategy=counts.strategy,
        preview={
            **counts.preview,
            "cells": 2 * int(counts.preview["cells"]),
            "squared_weights": True,
            "squares": dict(squares.preview),
        },
        warnings=(
            note("fixed_weights"),
            *((note("design_where_known"),) if is_stated else ()),
            *design_notes(question, is_weighted=True),
        ),
        refusal=f"The two lists of weighted counts do not fit {question.budget.definition!r}; use zero_concentrated.",
    )


def _tables(
    counts: TablePlan, squares: TablePlan, bounds: Bounds, rows: int, blocks: tuple[Block, ...]
) -> tuple[Table, ...]:
    """From the blocks of both lists to weighted counts with both errors, and squared weights, of every margin.

    `rows` is the largest number of rows of one unit, and 0 where no error of sampling is stated.
    """
    first = len(counts.measurements)
    pairs = list(zip(counts.assemble(blocks[:first]), squares.assemble(blocks[first:]), strict=True))
    return (
        *(replace(count, sampled=_sampled(count, squared, bounds, rows) if rows else None) for count, squared in pairs),
        *(replace(squared, name=f"squared weights by {squared.name}") for _, squared in pairs),
    )


def _sampled(count: Table, squared: Table, bounds: Bounds, rows: int) -> FloatArray:
    """The variance of noise and design together, NaN where the squares are lost in their noise."""
    low, high = float(bounds.lower), float(bounds.upper)
    weights = np.maximum(count.values, 0.0)
    design = np.clip(squared.values, low * weights, high * weights)
    with np.errstate(invalid="ignore"):
        is_known = squared.std_error <= KNOWN * squared.values
    sampled = np.where(is_known, count.variance + rows * design, np.nan)
    sampled[list(count.space.structural_indices)] = 0.0
    return np.asarray(sampled, dtype=np.float64)
