"""Standard deviation of a numeric variable in each cell, with the errors of noise and of sampling.

Totals and squares are measured, and with `error = "sampling"` (the default) third and fourth powers on a coarse grid,
which the error of sampling needs.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.methods._variance import VarianceParameters, plan_variance
from dalenius.spec.document import Part
from dalenius.spec.method import WHICH_ERROR, FormField, Words
from dalenius.spec.question import Question
from dalenius.translation import translated

__all__ = ["StandardDeviationMethod"]


class StandardDeviationMethod:
    """Root of the variance."""

    name: ClassVar[str] = "standard_deviation"
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = True
    is_offered: ClassVar[bool] = True
    form_fields: ClassVar[Mapping[str, FormField]] = {"error": WHICH_ERROR}
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA,)
    Parameters: ClassVar[type[Part]] = VarianceParameters
    words: ClassVar[Mapping[str, Words]] = translated(
        Words(
            title="Standard deviation of {of}",
            preview="In a cell of {records} records spread evenly over the bounds, expect the standard deviation to "
            "be off by at most ± {error} (95 %) through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a standard deviation is missing where the "
            "released count is below two.",
        )
    )
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "measure": "standard_deviation", "of": "income"},
            "privacy": {"definition": "zero_concentrated", "rho": 2},
        },
        {
            "table": {"measure": "standard_deviation", "of": "income", "error": "noise"},
            "privacy": {"definition": "pure", "epsilon": 2},
        },
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """From total, squares and higher powers."""
        return plan_variance(question, "standard deviation", question.bounds.upper - question.bounds.lower)

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """As it is."""
        return "standard_deviation", dict(parameters)
