"""Covariance of two numeric variables in each cell, with the errors of noise and of sampling."""

from collections.abc import Mapping
from typing import Any, ClassVar

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.plans.pairs import WITH_ANOTHER, SpreadParameters, examples_of, plan_pair, words_of
from dalenius.spec.document import Part
from dalenius.spec.method import AnswerKind, FormField, Words, spelled
from dalenius.spec.question import Question

__all__ = ["CovarianceMethod"]


class CovarianceMethod:
    """From totals, squares and products of the rows that have both variables."""

    name: ClassVar[str] = "covariance"
    takes_of: ClassVar[bool] = True
    is_symmetric: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = True
    answer: ClassVar[AnswerKind] = AnswerKind.NUMBER
    is_offered: ClassVar[bool] = False
    form_fields: ClassVar[Mapping[str, FormField]] = WITH_ANOTHER
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA,)
    Parameters: ClassVar[type[Part]] = SpreadParameters
    words: ClassVar[Mapping[str, Words]] = words_of("covariance", "Kovarianz")
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = examples_of("covariance")

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """Five sums, and squared influences for the error of sampling."""
        return plan_pair(question, "covariance")

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Without what is meant anyway."""
        return "covariance", spelled(parameters, error="sampling")
