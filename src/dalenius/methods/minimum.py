"""Smallest value of a numeric variable, as one number."""

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
from dalenius.statistics.extreme import Extreme

__all__ = ["MinimumMethod"]


class MinimumMethod:
    """Smallest value of a numeric variable."""

    name: ClassVar[str] = "minimum"
    meaning: ClassVar[int] = 1
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = False
    is_offered: ClassVar[bool] = False
    scopes: ClassVar[tuple[Scope, ...]] = tuple(Scope)
    Parameters: ClassVar[type[Part]] = OrderStatisticParameters
    words: ClassVar[Mapping[str, Words]] = {
        "en": Words(
            title="Smallest {of}",
            preview="How far the smallest value is off depends on the data and is not published.",
            caption="The smallest value is shown without a margin of error: the scale of its noise follows the data.",
        ),
        "de": Words(
            title="Kleinster Wert von {of}",
            preview="Wie weit der kleinste Wert abweicht, hängt von den Daten ab und wird nicht veröffentlicht.",
            caption="Der kleinste Wert steht ohne Fehlerspanne: die Größe des Rauschens folgt den Daten.",
        ),
    }
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"measure": "minimum", "of": "income", "method": "cauchy"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"measure": "minimum", "of": "income"},
            "privacy": {"definition": "individual", "epsilon": 1},
        },
    )
    written: ClassVar[Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]] = staticmethod(
        order_statistic_written("minimum")
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """At the smooth sensitivity, or at the data."""
        return plan_order_statistic(
            question, "minimum", lambda: _statistic(question), lambda: _statistic(question)
        )


def _statistic(question: Question) -> Extreme:
    return Extreme.of(question.domain, question.of, is_largest=False, where=question.where)
