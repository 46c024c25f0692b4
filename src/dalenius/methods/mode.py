"""The most frequent combination of categories: a cell is named, no number is released."""

from collections.abc import Mapping
from typing import Any

from dalenius.core.plan import TablePlan
from dalenius.methods._choice import ChoiceParameters, plan_choice
from dalenius.spec.document import Part
from dalenius.spec.method import Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.translation import translated

__all__ = ["ModeMethod"]


class ModeMethod(Method):
    """Label of (nearly) the fullest cell."""

    name: str = "mode"
    takes_of: bool = False
    has_error: bool = False
    Parameters: type[Part] = ChoiceParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Most frequent combination",
            preview="With 95 % probability the combination that is named has at most {error} records less than the "
            "most frequent one.",
            caption="One combination was chosen; another one of nearly as many records may be the most frequent.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], columns=["status"], measure="mode", epsilon=1),
        example(rows=["region"], measure="mode", method="permute_and_flip", rho="1/4"),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        return plan_choice(question, "mode", Count(question.query))
