"""Which cell has the largest total of a numeric variable: a selection at the data."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.measurements.data_dependent_selection import DataDependentSelection
from dalenius.methods._data_dependent import epsilon_alone, floor, plan_withheld
from dalenius.spec.method import AnswerKind, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.translation import translated

__all__ = ["LargestTotalMethod"]


class LargestTotalMethod(Method):
    """The cell that is chosen by the exponential mechanism at the sensitivity of the data."""

    name: str = "largest_total"
    answer: AnswerKind = AnswerKind.CELL
    has_error: bool = False
    is_offered: bool = False
    scopes: tuple[Scope, ...] = (Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
    words: Mapping[str, Words] = translated(
        Words(
            title="Cell with the largest total of {of}",
            preview="How likely the right cell is depends on the data and is not published.",
            caption="The cell was selected with noise that follows the data; a cell with a nearby total may be the "
            "largest.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["region"], measure="largest_total", of="income", definition="individual", epsilon=1),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        least, epsilon = floor(question), epsilon_alone(question)
        measurement = DataDependentSelection(
            name="largest total",
            statistic=MagnitudeTable.of(question.domain, question.of, question.space, question.where),
            epsilon=epsilon,
            neighbours=question.neighbours,
            floor=least,
        )
        return plan_withheld(question, measurement, "selection", Fraction(1))
