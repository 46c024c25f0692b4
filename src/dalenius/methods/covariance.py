"""Covariance of two numeric variables in each cell, with the errors of noise and of sampling."""

from collections.abc import Mapping
from typing import Any

from dalenius.core.plan import TablePlan
from dalenius.plans.pairs import WITH_ANOTHER, SpreadParameters, examples_of, plan_pair, words_of
from dalenius.spec.document import Part
from dalenius.spec.method import AnswerKind, FormField, Method, Words
from dalenius.spec.question import Question

__all__ = ["CovarianceMethod"]


class CovarianceMethod(Method):
    """From totals, squares and products of the rows that have both variables."""

    name: str = "covariance"
    is_symmetric: bool = True
    answer: AnswerKind = AnswerKind.NUMBER
    is_offered: bool = False
    form_fields: Mapping[str, FormField] = WITH_ANOTHER
    Parameters: type[Part] = SpreadParameters
    words: Mapping[str, Words] = words_of("covariance", "Kovarianz")
    examples: tuple[Mapping[str, Any], ...] = examples_of("covariance")

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """Five sums, and squared influences for the error of sampling."""
        return plan_pair(question, "covariance")
