"""Standard deviation of a numeric variable in each cell, with the errors of noise and of sampling.

Totals and squares are measured, and with `error = "sampling"` (the default) third and fourth powers on a coarse grid,
which the error of sampling needs.
"""

from collections.abc import Mapping
from typing import Any

from dalenius.core.plan import TablePlan
from dalenius.methods._variance import VarianceParameters, plan_variance
from dalenius.spec.document import Part
from dalenius.spec.method import WHICH_ERROR, FormField, Method, Words, example
from dalenius.spec.question import Question
from dalenius.translation import translated

__all__ = ["StandardDeviationMethod"]


class StandardDeviationMethod(Method):
    """Root of the variance."""

    name: str = "standard_deviation"
    form_fields: Mapping[str, FormField] = {"error": WHICH_ERROR}
    Parameters: type[Part] = VarianceParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Standard deviation of {of}",
            preview="In a cell of {records} records spread evenly over the bounds, expect the standard deviation to "
            "be off by at most ± {error} (95 %) through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a standard deviation is missing where the "
            "released count is below two.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="standard_deviation", of="income", rho=2),
        example(measure="standard_deviation", of="income", error="noise", epsilon=2),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """From total, squares and higher powers."""
        return plan_variance(question, "standard deviation", question.bounds.upper - question.bounds.lower)
