"""The cell with the largest or smallest total of a numeric variable: a cell is named, no number is released."""

from collections.abc import Mapping
from typing import Any, Literal

from dalenius.core.plan import TablePlan
from dalenius.errors import UnknownName
from dalenius.methods._choice import ChoiceParameters, plan_choice
from dalenius.spec.document import Part
from dalenius.spec.method import AnswerKind, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.translation import translated

__all__ = ["BestMethod"]

_SIGNS = {"largest": 1, "smallest": -1}


class BestParameters(ChoiceParameters):
    """Keys of the best cell."""

    which: Literal["largest", "smallest"] = "largest"


class BestMethod(Method):
    """Label of (nearly) the cell whose total is the largest, or the smallest."""

    name: str = "best"
    has_error: bool = False
    answer: AnswerKind = AnswerKind.NUMBER
    Parameters: type[Part] = BestParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Category with the {which} total of {of}",
            preview="With 95 % probability the total of the category that is named falls short of the best one by at "
            "most {error}.",
            caption="One category was chosen; another one with a total nearby may be the best.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["region"], measure="best", of="income", epsilon=1),
        example(
            rows=["region"],
            measure="best",
            of="income",
            which="smallest",
            method="permute_and_flip",
            epsilon=1,
            delta="1e-6",
        ),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        which = str(question.parameter("which", "largest"))
        if which not in _SIGNS:
            raise UnknownName.among("which", which, list(_SIGNS))
        totals = MagnitudeTable.of(question.domain, question.of, question.space, question.where)
        return plan_choice(question, "best", totals, sign=_SIGNS[which], step=question.bounds.step)
