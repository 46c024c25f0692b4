"""Correlation of two numeric variables in each cell, with the errors of noise and of sampling."""

from collections.abc import Mapping
from typing import Any

from dalenius.core.plan import TablePlan
from dalenius.methods._words import estimate_words
from dalenius.plans.pairs import WITH_ANOTHER, SpreadParameters, plan_pair
from dalenius.spec.document import Part
from dalenius.spec.method import AnswerKind, FormField, Method, Words, example
from dalenius.spec.question import Question

__all__ = ["CorrelationMethod"]


class CorrelationMethod(Method):
    """From totals, squares and products of the rows that have both variables."""

    name: str = "correlation"
    is_symmetric: bool = True
    answer: AnswerKind = AnswerKind.NUMBER
    is_offered: bool = False
    form_fields: Mapping[str, FormField] = WITH_ANOTHER
    Parameters: type[Part] = SpreadParameters
    words: Mapping[str, Words] = estimate_words(
        en=(
            "Correlation of {of} and {other}",
            "correlation",
            "a correlation is missing where the released count or variances are too small",
        ),
        de=(
            "Korrelation von {of} und {other}",
            "die Korrelation",
            "die Korrelation fehlt, wo die veröffentlichte Anzahl oder die Varianzen zu klein sind",
        ),
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="correlation", of="income", other="age", rho=20),
        example(measure="correlation", of="income", other="age", epsilon=20),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """Five sums, and squared influences for the error of sampling."""
        return plan_pair(question, "correlation")
