"""The plan that a variance and a standard deviation share: total, squares, and higher powers for the error
of sampling.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from dalenius.core.plan import TablePlan
from dalenius.errors import Unsupported
from dalenius.measurements.learned_bounds import cell_queries
from dalenius.plans.moments import (
    CLIPPED,
    MeasuredPart,
    constants,
    middle,
    noisy,
    plan_estimate,
    public_size,
    rows_with,
    sampling_notes,
    squares_part,
    totals_part,
    wants_sampling,
)
from dalenius.spec.document import Part
from dalenius.spec.question import Question
from dalenius.statistics.power_sum import COARSER, PowerSum

# Shares of the budget for total, squares, third and fourth powers.
WITH_SAMPLING = (Fraction(42, 100), Fraction(42, 100), Fraction(6, 100), Fraction(10, 100))
WITHOUT = (Fraction(1, 2), Fraction(1, 2))


class VarianceParameters(Part):
    """Keys of a variance or standard deviation: which error it is given with."""

    error: Literal["noise", "sampling"] = "sampling"


def plan_variance(question: Question, estimate: str, largest: Fraction) -> TablePlan:
    """A priced plan; `largest` is what the estimate can be, by the declared bounds."""
    bounds, size, query = question.bounds, public_size(question), rows_with(question)
    has_sampling = wants_sampling(question)
    shares: Sequence[Fraction] = WITH_SAMPLING if has_sampling else WITHOUT
    parts = [totals_part(question, query, size, shares[0]), squares_part(question, query, question.of, size, shares[1])]
    if has_sampling:
        parts += [_powers(question, power, size, part) for power, part in zip((3, 4), shares[2:], strict=True)]
    return plan_estimate(
        question,
        estimate,
        f"{estimate} of {question.of}",
        tuple(parts),
        {"size": size, "scale": bounds.step} | constants(bounds),
        (Fraction(0), largest),
        warnings=(CLIPPED, *sampling_notes(question)),
    )


def _powers(question: Question, power: int, size: int | None, part: Fraction) -> MeasuredPart:
    """Sums of powers on the finest of the coarse grids whose noise can be drawn."""
    *finer, coarsest = COARSER
    for grid in finer:
        try:
            return _on_grid(question, power, size, part, grid)
        except Unsupported:
            continue
    return _on_grid(question, power, size, part, coarsest)


def _on_grid(question: Question, power: int, size: int | None, part: Fraction, grid: int) -> MeasuredPart:
    bounds = question.bounds
    centre = middle(bounds)
    half = max(bounds.high - centre, centre - bounds.low)
    statistic = PowerSum(
        needs=cell_queries(question.domain, question.of, question.space, question.where),
        space=question.space,
        centre=centre,
        half=half,
        power=power,
        is_complete=size is not None,
        grid=grid,
    )
    name = "cubes" if power == 3 else "fourths"
    return MeasuredPart(
        arrays=(name,),
        measurement=noisy(question, f"{name} of {question.of}", statistic, part),
        typical=(grid**4 / 5 - statistic.shift if power == 4 else 0.0,),
        shift=statistic.shift,
        unit=Fraction(half, grid) ** power,
    )
