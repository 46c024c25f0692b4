"""Medians of a numeric variable: one for each cell by exact selection, or one number with noise of its own."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.methods._quantile import WHICH_SCORE, plan_quantile
from dalenius.spec.document import Exact, Part, Whole
from dalenius.spec.method import FormField, Words, spelled
from dalenius.spec.question import Question
from dalenius.statistics.quantile import Quantile

__all__ = ["MedianMethod"]


class MedianParameters(Part):
    """Keys of a median; with q it is another quantile."""

    section: ClassVar[str] = "[table] of a median"

    q: Exact | None = None
    method: str | None = None
    beta: Exact | None = None
    shape: Exact | None = None
    growth: Exact | None = None
    score: Literal["distance", "depth"] = "distance"
    group: Whole = 1


class MedianMethod:
    """The value that half of the records do not exceed."""

    name: ClassVar[str] = "median"
    meaning: ClassVar[int] = 1
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = False
    is_offered: ClassVar[bool] = True
    form_fields: ClassVar[Mapping[str, FormField]] = {"score": WHICH_SCORE}
    scopes: ClassVar[tuple[Scope, ...]] = (
        Scope.EVERYWHERE,
        Scope.AT_THE_DATA,
        Scope.WITHIN_THE_DATA,
    )
    Parameters: ClassVar[type[Part]] = MedianParameters
    words: ClassVar[Mapping[str, Words]] = {
        "en": Words(
            title="Median of {of}",
            preview="How far a median is off depends on the data and is not published.",
            caption="Medians are selected values: reliable where a cell holds many records, without a margin of error.",
        ),
        "de": Words(
            title="Median von {of}",
            preview="Wie weit ein Median abweicht, hängt von den Daten ab und wird nicht veröffentlicht.",
            caption="Mediane sind ausgewählte Werte: verlässlich, wo eine Zelle viele Datensätze hat, ohne Fehlerspanne.",
        ),
    }
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "measure": "median", "of": "income"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"measure": "median", "of": "income", "method": "lomax"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"measure": "median", "of": "income"},
            "privacy": {"definition": "individual", "epsilon": 1},
        },
        {
            "table": {"rows": ["sex"], "measure": "median", "of": "income", "score": "depth"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"measure": "median", "of": "income", "method": "exponential", "score": "depth"},
            "privacy": {"definition": "zero_concentrated", "rho": 1},
        },
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """By selection, by smooth noise, or by noise at the data."""
        is_older = question.parameter("statistic") is not None
        return plan_quantile(question, "1/2" if is_older else question.parameter("q", "1/2"))

    @staticmethod
    def statistic(question: Question) -> Any:
        """One quantile of the rows under the conditions."""
        level = rational(question.parameter("q", "1/2"), "q")
        return Quantile.of(question.domain, question.of, level, question.where)

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """One number with a named method has its older spelling."""
        keys = spelled(parameters, score="distance")
        if "method" in keys:
            return "total", {"statistic": "median", **keys}
        return "median", keys
