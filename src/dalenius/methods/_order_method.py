"""What methods for one order statistic share: all but its name, its words and its statistic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.methods._order_statistic import OrderStatisticParameters, plan_order_statistic
from dalenius.spec.document import Part
from dalenius.spec.method import Words
from dalenius.spec.question import Question


@dataclass(frozen=True, kw_only=True)
class OrderStatisticMethod:
    """One order statistic of a numeric variable, as one number whose error is not published.

    `titles` and `nouns` are in every language, nouns with the article that begins a German sentence. A difference of
    two order statistics has noise at the data only.
    """

    name: str
    titles: Mapping[str, str]
    nouns: Mapping[str, str]
    statistic: Callable[[Question], Any]
    is_difference: bool = False

    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = False
    is_offered: ClassVar[bool] = False
    Parameters: ClassVar[type[Part]] = OrderStatisticParameters

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Under which guarantees it has a route."""
        at_hand = (Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
        return at_hand if self.is_difference else (Scope.ALL_DATA, *at_hand)

    @property
    def words(self) -> Mapping[str, Words]:
        """That its error is not published, and why."""
        english, german = self.nouns["en"], self.nouns["de"]
        return {
            "en": Words(
                title=self.titles["en"],
                preview=f"How far the {english} is off depends on the data and is not published.",
                caption=f"The {english} is shown without a margin of error: the scale of its noise follows the data.",
            ),
            "de": Words(
                title=self.titles["de"],
                preview=f"Wie weit {german[0].lower()}{german[1:]} abweicht, hängt von den Daten ab und wird nicht"
                " veröffentlicht.",
                caption=f"{german} steht ohne Fehlerspanne: die Größe des Rauschens folgt den Daten.",
            ),
        }

    @property
    def examples(self) -> tuple[Mapping[str, Any], ...]:
        """With noise at the smooth sensitivity where there is such a route, and with noise at the data."""
        table = {"measure": self.name, "of": "income"}
        local = {"table": table, "privacy": {"definition": "individual", "epsilon": 1}}
        smooth = {"table": table | {"method": "cauchy"}, "privacy": {"definition": "pure", "epsilon": 1}}
        return (local,) if self.is_difference else (smooth, local)

    def written(self, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """As it is."""
        return self.name, dict(parameters)

    def plan(self, question: Question) -> TablePlan:
        """At the smooth sensitivity, or at the data."""
        return plan_order_statistic(
            question, self.name, lambda: self.statistic(question), is_difference=self.is_difference
        )
