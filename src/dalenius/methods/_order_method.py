"""What methods for one order statistic share: all but its name, its words and its statistic."""

from collections.abc import Callable, Mapping
from typing import Any

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.methods._order_statistic import OrderStatisticParameters, plan_order_statistic
from dalenius.spec.document import Part
from dalenius.spec.method import Method, Words
from dalenius.spec.question import Question


class OrderStatisticMethod(Method):
    """One order statistic of a numeric variable, as one number whose error is not published.

    `titles` and `nouns` are in every language, nouns with the article that begins a German sentence. A difference of
    two order statistics has noise at the data only; others also at the smooth sensitivity.
    """

    has_error: bool = False
    is_offered: bool = False
    Parameters: type[Part] = OrderStatisticParameters
    scopes: tuple[Scope, ...]
    words: Mapping[str, Words]
    examples: tuple[Mapping[str, Any], ...]

    def __init__(
        self,
        *,
        name: str,
        titles: Mapping[str, str],
        nouns: Mapping[str, str],
        statistic: Callable[[Question], Any],
        is_difference: bool = False,
    ) -> None:
        self.name, self.statistic, self.is_difference = name, statistic, is_difference
        at_hand = (Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
        self.scopes = at_hand if is_difference else (Scope.ALL_DATA, *at_hand)
        english, german = nouns["en"], nouns["de"]
        self.words = {
            "en": Words(
                title=titles["en"],
                preview=f"How far the {english} is off depends on the data and is not published.",
                caption=f"The {english} is shown without a margin of error: the scale of its noise follows the data.",
            ),
            "de": Words(
                title=titles["de"],
                preview=f"Wie weit {german[0].lower()}{german[1:]} abweicht, hängt von den Daten ab und wird nicht"
                " veröffentlicht.",
                caption=f"{german} steht ohne Fehlerspanne: die Größe des Rauschens folgt den Daten.",
            ),
        }
        table = {"measure": name, "of": "income"}
        local = {"table": table, "privacy": {"definition": "individual", "epsilon": 1}}
        smooth = {"table": table | {"method": "cauchy"}, "privacy": {"definition": "pure", "epsilon": 1}}
        self.examples = (local,) if is_difference else (smooth, local)

    def plan(self, question: Question) -> TablePlan:
        """At the smooth sensitivity, or at the data."""
        return plan_order_statistic(
            question, self.name, lambda: self.statistic(question), is_difference=self.is_difference
        )
