"""Total of a numeric variable in each cell, to which one person adds at most so much in all cells together."""

from fractions import Fraction

from dalenius.core.plan import TablePlan
from dalenius.plans.clipped_persons import clipped_method, plan_clipped
from dalenius.spec.method import FieldKind, FormField, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.clipped_table import ClippedTable
from dalenius.translation import texts, translated

_INCOME = {"measure": "clipped_total", "of": "income"}


def _plan(question: Question) -> TablePlan:
    """One table, or the bound first; a person who adds more is scaled down to the bound, in all cells alike."""
    about = question.domain, question.of, question.space, question.where
    return plan_clipped(question, "clipped_total", question.bounds.step, lambda clip: ClippedTable.totals(*about, clip))


CLIPPED_TOTAL = clipped_method(
    "clipped_total",
    FormField(kind=FieldKind.NUMBERS, labels=texts("Most of a person"), is_needed=True, part=Fraction(1)),
    _plan,
    words=translated(
        Words(
            title="Total of {of}, clipped for each person",
            preview="Expect each total to be off by at most ± {error} (95 %), beside what is clipped.",
            caption="± is the margin of error from privacy noise, {level}; what was clipped is not in it.",
        )
    ),
    examples=(
        example(rows=["sex"], **_INCOME, clip=30, epsilon=1),
        example(rows=["region"], **_INCOME, clip=[5, 10, 40], norm="l2", learn="1/4", beyond="1/5", rho="1/4"),
        example(rows=["sex"], **_INCOME, clip=[10, 20], expected_persons={"5": 300, "15": 40}, epsilon=1),
    ),
)
