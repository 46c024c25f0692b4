"""Distance between the quartiles of a numeric variable, as one number."""

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
from dalenius.statistics.interquartile import Interquartile

__all__ = ["InterquartileMethod"]


class InterquartileMethod:
    """Distance between the quartiles of a numeric variable."""

    name: ClassVar[str] = "interquartile"
    meaning: ClassVar[int] = 1
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = False
    is_offered: ClassVar[bool] = False
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.AT_THE_DATA, Scope.WITHIN_THE_DATA)
    Parameters: ClassVar[type[Part]] = OrderStatisticParameters
    words: ClassVar[Mapping[str, Words]] = {
        "en": Words(
            title="Interquartile range of {of}",
            preview="How far the interquartile range is off depends on the data and is not published.",
            caption="The interquartile range is shown without a margin of error: the scale of its noise follows the data.",
        ),
        "de": Words(
            title="Quartilsabstand von {of}",
            preview="Wie weit der Quartilsabstand abweicht, hängt von den Daten ab und wird nicht veröffentlicht.",
            caption="Der Quartilsabstand steht ohne Fehlerspanne: die Größe des Rauschens folgt den Daten.",
        ),
    }
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"measure": "interquartile", "of": "income"},
            "privacy": {"definition": "individual", "epsilon": 1},
        },
    )
    written: ClassVar[Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]] = staticmethod(
        order_statistic_written("interquartile")
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """At the smooth sensitivity, or at the data."""
        return plan_order_statistic(question, "interquartile", lambda: _statistic(question))


def _statistic(question: Question) -> Interquartile:
    return Interquartile.of(question.domain, question.of, question.where)
