"""Covariance of two numeric variables in each cell, with the errors of noise and of sampling."""

from collections.abc import Mapping
from typing import Any, ClassVar

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.methods._pairs import PairParameters, plan_pair
from dalenius.spec.document import Part
from dalenius.spec.method import AnswerKind, Words
from dalenius.spec.question import Question

__all__ = ["CovarianceMethod"]


class CovarianceMethod:
    """From totals, squares and products of the rows that have both variables."""

    name: ClassVar[str] = "covariance"
    meaning: ClassVar[int] = 1
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = True
    answer: ClassVar[AnswerKind] = AnswerKind.NUMBER
    is_offered: ClassVar[bool] = False
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.EVERYWHERE,)
    Parameters: ClassVar[type[Part]] = PairParameters
    words: ClassVar[Mapping[str, Words]] = {
        "en": Words(
            title="Covariance of {of} and {other}",
            preview="In a cell of {records} records spread evenly over the bounds, expect the covariance to be off by at most"
            " ± {error} (95 %) through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a covariance is missing where the released count or"
            " variances are too small.",
        ),
        "de": Words(
            title="Kovarianz von {of} und {other}",
            preview="In einer Zelle mit {records} Datensätzen, gleichmäßig über die Schranken verteilt, weicht die Kovarianz"
            " durch das Schutzrauschen voraussichtlich um höchstens ± {error} ab (95 %), in kleineren Zellen um mehr.",
            caption="± ist die Fehlerspanne durch das Schutzrauschen, {level}; die Kovarianz fehlt, wo die veröffentlichte Anzahl"
            " oder die Varianzen zu klein sind.",
        ),
    }
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "measure": "covariance", "of": "income", "other": "age"},
            "privacy": {"definition": "zero_concentrated", "rho": 20},
        },
        {
            "table": {"measure": "covariance", "of": "income", "other": "age"},
            "privacy": {"definition": "pure", "epsilon": 20},
        },
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """A fifth of the budget for each of five sums."""
        return plan_pair(question, "covariance")

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """As it is."""
        return "covariance", dict(parameters)
