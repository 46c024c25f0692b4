"""Which cell has the largest total of a numeric variable: a selection at the sensitivity of the data."""

from fractions import Fraction

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.measurements.data_dependent_selection import DataDependentSelection
from dalenius.plans.data_dependent import epsilon_alone, floor, plan_withheld
from dalenius.spec.method import AnswerKind, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.translation import translated


def _plan(question: Question) -> TablePlan:
    measurement = DataDependentSelection(
        name="largest total",
        statistic=MagnitudeTable.of(question.domain, question.of, question.space, question.where),
        floor=floor(question),
        epsilon=epsilon_alone(question),
        neighbours=question.neighbours,
    )
    return plan_withheld(question, measurement, "selection", Fraction(1))


LARGEST_TOTAL = Method(
    name="largest_total",
    plan=_plan,
    answer=AnswerKind.CELL,
    has_error=False,
    is_offered=False,
    scopes=(Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS),
    words=translated(
        Words(
            title="Cell with the largest total of {of}",
            preview="How likely the right cell is depends on the data and is not published.",
            caption="The cell was selected with noise that follows the data; a cell with a nearby total may be the "
            "largest.",
        )
    ),
    examples=(example(rows=["region"], measure="largest_total", of="income", definition="individual", epsilon=1),),
)
