"""Number of records in each cell, of which one person adds at most so many to all cells together."""

from fractions import Fraction

from dalenius.core.plan import TablePlan
from dalenius.plans.clipped_persons import clipped_method, plan_clipped
from dalenius.spec.method import FieldKind, FormField, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.clipped_table import ClippedTable
from dalenius.translation import texts, translated


def _plan(question: Question) -> TablePlan:
    """One table, or the bound first; a person with more records is scaled down to the bound, in all cells alike."""
    space, where = question.space, question.where
    return plan_clipped(question, "clipped_count", Fraction(1), lambda clip: ClippedTable.counts(space, where, clip))


CLIPPED_COUNT = clipped_method(
    "clipped_count",
    FormField(kind=FieldKind.NUMBERS, labels=texts("Most records of a person"), is_needed=True, first="1"),
    _plan,
    takes_of=False,
    words=translated(
        Words(
            title="Number of records, clipped for each person",
            preview="Expect each number to be off by at most ± {error} (95 %), beside what is clipped.",
            caption="± is the margin of error from privacy noise, {level}; what was clipped is not in it.",
        )
    ),
    examples=(
        example(rows=["sex"], columns=["region"], measure="clipped_count", clip=2, epsilon=1),
        example(rows=["region"], measure="clipped_count", clip="3/2", norm="l2", rho="1/4"),
        example(
            rows=["region"], measure="clipped_count", clip=[1, 2, 4], expected_persons={"1": 900, "3": 100}, rho="1/4"
        ),
        example(rows=["region"], measure="clipped_count", clip=[1, 2, 4], learn="1/5", beyond="1/10", epsilon=2),
    ),
)
