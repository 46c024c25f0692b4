"""Mean of a numeric variable in each cell, with the errors of noise and of sampling.

Two totals tell its total and the number of rows, and its squares the error of sampling. The error of a mean depends on
how many records a cell holds, so that what is said beforehand is the error in a cell of so many records.
"""

from typing import Any

from dalenius.methods._plan import EstimateMethod
from dalenius.plans.at_the_data import plan_mean_at_the_data
from dalenius.plans.design import whole_size
from dalenius.spec.method import Words, example
from dalenius.spec.question import Question
from dalenius.statistics.mean import Mean
from dalenius.translation import translated


def _statistic(question: Question) -> Any:
    """One mean of a public number of rows."""
    low, high = question.bounds.low, question.bounds.high
    return Mean(value_name=question.of, low=low, high=high, size=whole_size(question))


MEAN = EstimateMethod(
    name="mean",
    at_the_data=plan_mean_at_the_data,
    statistic=_statistic,
    form_errors=("bootstrap",),
    words=translated(
        Words(
            title="Mean of {of}",
            preview="In a cell of {records} records, expect the mean to be off by at most ± {error} (95 %); in smaller"
            " cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a mean is missing where the released count "
            "is below one.",
        )
    ),
    examples=(
        example(rows=["region"], measure="mean", of="income", rho="1/4"),
        example(rows=["region"], measure="mean", of="income", error="sampling", rho="1/4"),
        example(rows=["region"], measure="mean", of="income", margins="all", rho="1/4"),
        example(measure="mean", of="age", error="noise", epsilon=1),
        example(
            rows=["region"], measure="mean", of="income", error="bootstrap", replicates=10, epsilon=4, delta="1/1000000"
        ),
        example(rows=["sex"], measure="mean", of="income", weight="weight", rho=2),
        example(rows=["sex"], measure="mean", of="income", weight="weight", error="noise", margins="all", rho=2),
        example(
            rows=["sex"],
            measure="mean",
            of="income",
            error="sampling",
            learn="1/5",
            clip=[0, 10, 20, 40],
            bound_clipped=True,
            rho=1,
        ),
        example(measure="mean", of="income", error="noise", learn="1/5", clip=[0, 20, 40], beyond="1/20", epsilon=1),
        example(rows=["sex"], measure="mean", of="income", weight="weight", regularise="1/2", rho=2),
    ),
)
