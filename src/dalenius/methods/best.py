"""The cell with the largest or smallest total of a numeric variable: a cell is named, no number is released."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.errors import UnknownName
from dalenius.methods._choice import ChoiceParameters, plan_choice
from dalenius.spec.document import Part
from dalenius.spec.method import AnswerKind, Words, spelled
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.translation import translated

__all__ = ["BestMethod"]

_SIGNS = {"largest": 1, "smallest": -1}


class BestParameters(ChoiceParameters):
    """Keys of the best cell."""

    section: ClassVar[str] = "[table] of the best cell"

    which: Literal["largest", "smallest"] = "largest"


class BestMethod:
    """Label of (nearly) the cell whose total is the largest, or the smallest."""

    name: ClassVar[str] = "best"
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = False
    answer: ClassVar[AnswerKind] = AnswerKind.NUMBER
    is_offered: ClassVar[bool] = True
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA,)
    Parameters: ClassVar[type[Part]] = BestParameters
    words: ClassVar[Mapping[str, Words]] = translated(
        Words(
            title="Category with the {which} total of {of}",
            preview="With 95 % probability the total of the category that is named falls short of the best one by at "
            "most {error}.",
            caption="One category was chosen; another one with a total nearby may be the best.",
        )
    )
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["region"], "measure": "best", "of": "income"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {
                "rows": ["region"],
                "measure": "best",
                "of": "income",
                "which": "smallest",
                "method": "permute_and_flip",
            },
            "privacy": {"definition": "approximate", "epsilon": 1, "delta": "1e-6"},
        },
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """One chosen cell."""
        which = str(question.parameter("which", "largest"))
        if which not in _SIGNS:
            raise UnknownName.among("which", which, list(_SIGNS))
        totals = MagnitudeTable.of(question.domain, question.of, question.space, question.where)
        return plan_choice(question, "best", totals, sign=_SIGNS[which], step=question.bounds.step)

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Without the usual end and the usual way of choosing."""
        return "best", spelled(parameters, which="largest", method="exponential")
