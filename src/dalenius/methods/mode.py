"""The most frequent combination of categories: a cell is named, no number is released."""

from collections.abc import Mapping
from typing import Any, ClassVar

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.methods._choice import ChoiceParameters, plan_choice
from dalenius.spec.document import Part
from dalenius.spec.method import Words, spelled
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.translation import translated

__all__ = ["ModeMethod"]


class ModeMethod:
    """Label of (nearly) the fullest cell."""

    name: ClassVar[str] = "mode"
    takes_of: ClassVar[bool] = False
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = False
    is_offered: ClassVar[bool] = True
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA,)
    Parameters: ClassVar[type[Part]] = ChoiceParameters
    words: ClassVar[Mapping[str, Words]] = translated(
        Words(
            title="Most frequent combination",
            preview="With 95 % probability the combination that is named has at most {error} records less than the "
            "most frequent one.",
            caption="One combination was chosen; another one of nearly as many records may be the most frequent.",
        )
    )
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "columns": ["status"], "measure": "mode"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"rows": ["region"], "measure": "mode", "method": "permute_and_flip"},
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """One chosen cell."""
        return plan_choice(question, "mode", Count(question.query))

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Without the usual way of choosing."""
        return "mode", spelled(parameters, method="exponential")
