"""Variance of a numeric variable in each cell, with the errors of noise and of sampling."""

from typing import Any

from dalenius.methods._plan import BOTH_ERRORS, AnswerKind, EstimateMethod
from dalenius.plans.at_the_data import plan_variance_at_the_data
from dalenius.plans.design import whole_size
from dalenius.spec.method import Words, example
from dalenius.spec.question import Question
from dalenius.statistics.variance import Variance
from dalenius.translation import translated


def _statistic(question: Question) -> Any:
    """One sample variance of a public number of rows."""
    low, high = question.bounds.low, question.bounds.high
    return Variance(value_name=question.of, low=low, high=high, size=whole_size(question), is_sample=True)


VARIANCE = EstimateMethod(
    name="variance",
    answer=AnswerKind.NUMBER,
    form_fields=BOTH_ERRORS,
    at_the_data=plan_variance_at_the_data,
    statistic=_statistic,
    words=translated(
        Words(
            title="Variance of {of}",
            preview="In a cell of {records} records, expect the variance to be off by about ± {error} (95 %) "
            "through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a variance is missing where the released"
            " count is below two.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="variance", of="income", rho=2),
        example(measure="variance", of="income", error="noise", epsilon=2),
    ),
)
