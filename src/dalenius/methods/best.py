"""The cell with the largest or smallest total of a numeric variable: a cell is named, no number is released."""

from typing import Literal

from dalenius.core.plan import TablePlan
from dalenius.errors import UnknownName
from dalenius.plans.choice import canonical_choice, plan_choice
from dalenius.spec.document import usual
from dalenius.spec.keys import MethodKey
from dalenius.spec.method import AnswerKind, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.translation import translated

_SIGNS = {"largest": 1, "smallest": -1}


class BestParameters(MethodKey):
    """Keys of the best cell."""

    which: Literal["largest", "smallest"] = usual("largest", "Which end is looked for.")


def _plan(question: Question) -> TablePlan:
    which = str(question.parameter("which", "largest"))
    if which not in _SIGNS:
        raise UnknownName.among("which", which, list(_SIGNS))
    totals = MagnitudeTable.of(question.domain, question.of, question.space, question.where)
    return plan_choice(question, "best", totals, sign=_SIGNS[which], step=question.bounds.step)


BEST = Method(
    name="best",
    plan=_plan,
    has_error=False,
    answer=AnswerKind.NUMBER,
    Parameters=BestParameters,
    canonical_keys=canonical_choice,
    words=translated(
        Words(
            title="Category with the {which} total of {of}",
            preview="With 95 % probability the total of the category that is named falls short of the best one by at "
            "most {error}.",
            caption="One category was chosen; another one with a total nearby may be the best.",
        )
    ),
    examples=(
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
    ),
)
