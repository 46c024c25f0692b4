"""Medians of a numeric variable: one for each cell with its interval, or one without an error by a named method."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.methods._quantile import MedianParameters, plan_quantile, without_implied
from dalenius.spec.document import Part
from dalenius.spec.method import Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.quantile import Quantile
from dalenius.translation import translated

__all__ = ["MedianMethod"]


class MedianMethod(Method):
    """The value that half of the records do not exceed."""

    name: str = "median"
    without_error: tuple[str, ...] = ("method",)
    scopes: tuple[Scope, ...] = (Scope.ALL_DATA, Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
    Parameters: type[Part] = MedianParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Median of {of}",
            preview="In a cell of {records} records, expect the interval of a median to reach {error} ranks to either "
            "side (95 %) through privacy noise.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however many records share a value.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="median", of="income", epsilon=1),
        example(measure="median", of="income", method="lomax", epsilon=1),
        example(measure="median", of="income", definition="individual", epsilon=1),
        example(rows=["sex"], measure="median", of="income", method="exponential", epsilon=1),
        example(measure="median", of="income", method="exponential", score="distance", rho=1),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """By selection, by smooth noise, or by noise at the data."""
        return plan_quantile(question, "median", Fraction(1, 2))

    @staticmethod
    def statistic(question: Question) -> Any:
        """One quantile of the rows under the conditions."""
        return Quantile.of(question.domain, question.of, Fraction(1, 2), question.where)

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        """Without what its method implies."""
        return without_implied(keys)
