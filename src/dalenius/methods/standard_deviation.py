"""Standard deviation of a numeric variable in each cell, with the errors of noise and of sampling.

Totals and squares are measured, and with `error = "sampling"` (the default) third and fourth powers on a coarse grid,
which the error of sampling needs.
"""

from collections.abc import Mapping
from typing import Any

from dalenius.core.plan import TablePlan
from dalenius.methods._variance import VarianceParameters, plan_variance
from dalenius.methods._words import estimate_words
from dalenius.spec.document import Part
from dalenius.spec.method import WHICH_ERROR, FormField, Method, Words, example
from dalenius.spec.question import Question

__all__ = ["StandardDeviationMethod"]


class StandardDeviationMethod(Method):
    """Root of the variance."""

    name: str = "standard_deviation"
    form_fields: Mapping[str, FormField] = {"error": WHICH_ERROR}
    Parameters: type[Part] = VarianceParameters
    words: Mapping[str, Words] = estimate_words(
        en=(
            "Standard deviation of {of}",
            "standard deviation",
            "a standard deviation is missing where the released count is below two",
        ),
        de=(
            "Standardabweichung von {of}",
            "die Standardabweichung",
            "eine Standardabweichung fehlt, wo die veröffentlichte Anzahl unter zwei liegt",
        ),
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="standard_deviation", of="income", rho=2),
        example(measure="standard_deviation", of="income", error="noise", epsilon=2),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """From total, squares and higher powers."""
        return plan_variance(question, "standard deviation", question.bounds.upper - question.bounds.lower)
