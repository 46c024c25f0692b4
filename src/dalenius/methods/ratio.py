"""Ratio of the totals of two numeric variables in each cell, with the errors of noise and of sampling.

`per = 1000` makes it a rate. A single noisy ratio is never released.
"""

from dataclasses import replace
from typing import Any

from dalenius.errors import Unsupported
from dalenius.methods._plan import BOTH_ERRORS, AnswerKind, EstimateMethod, RateKeys, other_of, rate_of
from dalenius.plans.design import public_size, whole_size
from dalenius.plans.sum_plan import SumPlan
from dalenius.spec.method import FieldKind, FormField, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.ratio import Ratio
from dalenius.translation import texts, translated


def _prepare(plan: SumPlan) -> SumPlan:
    if plan.bounds["y"].low < 0:
        other = plan.variables["y"]
        raise Unsupported(
            f"The variable below the line must not be negative; {other!r} may be, by its bounds.", variable=other
        )
    return replace(plan, per=rate_of(plan.question))


def _statistic(question: Question) -> Any:
    """One ratio of rows of which none can drop out where it is replaced."""
    neighbours, other, bounds = question.neighbours, other_of(question), question.bounds
    beside = question.domain.variable(other).bounds
    if neighbours.max_rows > 1 or question.space.axes:
        raise Unsupported("The sensitivity of a ratio is of one number, for one row to a unit: no rows or columns.")
    if neighbours.is_replace and public_size(question, other) is None:
        whole_size(question, other)
    return Ratio(
        numerator=question.of, denominator=other, low=bounds.low, high=bounds.high, least=beside.low, most=beside.high
    )


RATIO = EstimateMethod(
    name="ratio",
    answer=AnswerKind.NUMBER,
    is_offered=False,
    keys=(RateKeys,),
    form_fields={
        "other": FormField(kind=FieldKind.VARIABLE, labels=texts("To the total of"), is_needed=True),
        **BOTH_ERRORS,
    },
    prepare=_prepare,
    statistic=_statistic,
    words=translated(
        Words(
            title="Ratio of {of} to {other} {per}",
            preview="In a cell of {records} records, expect the ratio to be off by about ± {error} (95 %) "
            "through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a ratio is missing where the released "
            "total below the line is too small.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="ratio", of="income", other="age", rho=2),
        example(measure="ratio", of="income", other="age", per=1000, error="noise", epsilon=2),
        example(measure="ratio", of="income", other="age", weight="weight", rho=2),
    ),
)
