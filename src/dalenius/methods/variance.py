"""Variance of a numeric variable in each cell, with the errors of noise and of sampling.

Totals and squares are measured, and with `error = "sampling"` (the default) third and fourth powers on a coarse grid,
which the error of sampling needs.
"""

from collections.abc import Mapping
from typing import Any

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.methods._at_the_data import plan_variance_at_the_data
from dalenius.methods._variance import VarianceParameters, plan_variance
from dalenius.plans.moments import whole_size
from dalenius.spec.document import Part
from dalenius.spec.method import WHICH_ERROR, AnswerKind, FormField, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.variance import Variance
from dalenius.translation import translated

__all__ = ["VarianceMethod"]


class VarianceMethod(Method):
    """Sum of squared deviations from the mean over the number of records less one."""

    name: str = "variance"
    answer: AnswerKind = AnswerKind.NUMBER
    form_fields: Mapping[str, FormField] = {"error": WHICH_ERROR}
    scopes: tuple[Scope, ...] = (Scope.ALL_DATA, Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
    Parameters: type[Part] = VarianceParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Variance of {of}",
            preview="In a cell of {records} records spread evenly over the bounds, expect the variance to be off by "
            "at most ± {error} (95 %) through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a variance is missing where the released"
            " count is below two.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="variance", of="income", rho=2),
        example(measure="variance", of="income", error="noise", epsilon=2),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """From total, squares and higher powers; at the data one number over a public number of rows."""
        if question.scope.is_data_dependent:
            return plan_variance_at_the_data(question)
        return plan_variance(question, "variance", ((question.bounds.upper - question.bounds.lower) ** 2) / 2)

    @staticmethod
    def statistic(question: Question) -> Any:
        """One sample variance of a public number of rows."""
        low, high = question.bounds.low, question.bounds.high
        return Variance(value_name=question.of, low=low, high=high, size=whole_size(question), is_sample=True)
