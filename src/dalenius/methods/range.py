"""Distance from the smallest to the largest value of a numeric variable, as one number."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.methods._order_statistic import (
    OrderStatisticParameters,
    order_statistic_written,
    plan_order_statistic,
)
from dalenius.spec.document import Part
from dalenius.spec.method import Words
from dalenius.spec.question import Question
from dalenius.statistics.value_range import ValueRange

__all__ = ["RangeMethod"]


class RangeMethod:
    """Distance from the smallest to the largest value of a numeric variable."""

    name: ClassVar[str] = "range"
    meaning: ClassVar[int] = 1
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = False
    is_offered: ClassVar[bool] = False
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.AT_THE_DATA, Scope.WITHIN_THE_DATA)
    Parameters: ClassVar[type[Part]] = OrderStatisticParameters
    words: ClassVar[Mapping[str, Words]] = {
        "en": Words(
            title="Range of {of}",
            preview="How far the range is off depends on the data and is not published.",
            caption="The range is shown without a margin of error: the scale of its noise follows the data.",
        ),
        "de": Words(
            title="Spannweite von {of}",
            preview="Wie weit die Spannweite abweicht, hängt von den Daten ab und wird nicht veröffentlicht.",
            caption="Die Spannweite steht ohne Fehlerspanne: die Größe des Rauschens folgt den Daten.",
        ),
    }
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"measure": "range", "of": "income"},
            "privacy": {"definition": "individual", "epsilon": 1},
        },
    )
    written: ClassVar[Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]] = staticmethod(
        order_statistic_written("range")
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """At the smooth sensitivity, or at the data."""
        return plan_order_statistic(question, "range", lambda: _statistic(question))


def _statistic(question: Question) -> ValueRange:
    return ValueRange.of(question.domain, question.of, question.where)
