"""A quantile of a numeric variable: one for each cell with its interval, or one without an error by a named method."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import plain, rational
from dalenius.methods._quantile import plan_quantile, written_keys
from dalenius.spec.document import Exact, Part, Whole, exact
from dalenius.spec.method import FieldKind, FormField, Words
from dalenius.spec.question import Question
from dalenius.statistics.quantile import Quantile
from dalenius.translation import texts, translated

__all__ = ["QuantileMethod"]


class QuantileParameters(Part):
    """Keys of a quantile."""

    section: ClassVar[str] = "[table] of a quantile"

    q: Exact = Fraction(1, 2)
    method: str | None = None
    beta: Exact | None = None
    shape: Exact | None = None
    growth: Exact | None = None
    score: Literal["distance", "depth"] | None = None
    error: Literal["noise", "sampling"] | None = None
    group_size: Whole = 1


class QuantileMethod:
    """The value below which a share q of the records lies."""

    name: ClassVar[str] = "quantile"
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = True
    without_error: ClassVar[tuple[str, ...]] = ("method",)
    is_offered: ClassVar[bool] = False
    form_fields: ClassVar[Mapping[str, FormField]] = {
        "q": FormField(kind=FieldKind.NUMBER, labels=texts("Share of records below it"), first="0.9", is_needed=True)
    }
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA, Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
    Parameters: ClassVar[type[Part]] = QuantileParameters
    words: ClassVar[Mapping[str, Words]] = translated(
        Words(
            title="Quantile {q} of {of}",
            preview="In a cell of {records} records, expect the interval of a quantile to reach {error} ranks to "
            "either side (95 %) through privacy noise.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however many records share a value.",
        )
    )
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "measure": "quantile", "of": "income", "q": "9/10"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"measure": "quantile", "of": "income", "q": "1/4", "method": "cauchy"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"measure": "quantile", "of": "income", "q": "3/4"},
            "privacy": {"definition": "individual", "epsilon": 1},
        },
        {
            "table": {"measure": "quantile", "of": "income", "q": "9/10", "method": "unbounded"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"rows": ["sex"], "measure": "quantile", "of": "income", "q": "1/4", "method": "exponential"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """By selection, by smooth noise, or by noise at the data."""
        return plan_quantile(question, "quantile", rational(question.parameter("q", "1/2"), "q"))

    @staticmethod
    def statistic(question: Question) -> Any:
        """One quantile of the rows under the conditions."""
        level = rational(question.parameter("q", "1/2"), "q")
        return Quantile.of(question.domain, question.of, level, question.where)

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Without what is meant anyway; the level as exact text, and 1/2 as the median that it is."""
        keys = written_keys(parameters)
        level = exact(keys.pop("q", "1/2"))
        return ("median", keys) if level == Fraction(1, 2) else ("quantile", {**keys, "q": plain(level)})
