"""A quantile of a numeric variable: one for each cell with its interval, or one without an error by a named method."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.methods._quantile import MedianParameters, plan_quantile, without_implied
from dalenius.spec.document import Exact, Part
from dalenius.spec.method import FieldKind, FormField, Method, Words, exact_texts, example
from dalenius.spec.question import Question
from dalenius.statistics.quantile import Quantile
from dalenius.translation import texts, translated

__all__ = ["QuantileMethod"]


class QuantileParameters(MedianParameters):
    """Keys of a quantile: those of a median, and its level."""

    q: Exact = Fraction(1, 2)


class QuantileMethod(Method):
    """The value below which a share q of the records lies."""

    name: str = "quantile"
    without_error: tuple[str, ...] = ("method",)
    is_offered: bool = False
    form_fields: Mapping[str, FormField] = {
        "q": FormField(kind=FieldKind.NUMBER, labels=texts("Share of records below it"), first="0.9", is_needed=True)
    }
    scopes: tuple[Scope, ...] = (Scope.ALL_DATA, Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
    Parameters: type[Part] = QuantileParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Quantile {q} of {of}",
            preview="In a cell of {records} records, expect the interval of a quantile to reach {error} ranks to "
            "either side (95 %) through privacy noise.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however many records share a value.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="quantile", of="income", q="9/10", epsilon=1),
        example(measure="quantile", of="income", q="1/4", method="cauchy", epsilon=1),
        example(measure="quantile", of="income", q="3/4", definition="individual", epsilon=1),
        example(measure="quantile", of="income", q="9/10", method="unbounded", epsilon=1),
        example(rows=["sex"], measure="quantile", of="income", q="1/4", method="exponential", epsilon=1),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """By selection, by smooth noise, or by noise at the data."""
        return plan_quantile(question, "quantile", rational(question.parameter("q"), "q"))

    @staticmethod
    def statistic(question: Question) -> Any:
        """One quantile of the rows under the conditions."""
        level = rational(question.parameter("q"), "q")
        return Quantile.of(question.domain, question.of, level, question.where)

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        """The level as exact text, without what its method implies."""
        return exact_texts(without_implied(keys), "q")

    @staticmethod
    def equivalent(keys: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """As the median where it is one."""
        return None if "q" in keys else ("median", without_implied(keys))
