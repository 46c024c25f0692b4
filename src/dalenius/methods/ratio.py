"""Ratio of the totals of two numeric variables in each cell, with Fieller's interval for noise and for sampling.

Four tenths of the budget go to each total; with `error = "sampling"` (the default) one fifth goes to the squares and
products that the error of sampling needs; with `weight` both totals are weighted. `per = 1000` makes it a rate. A
single noisy ratio is never released.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.errors import ParameterError, Unsupported
from dalenius.methods._weighted_estimate import plan_weighted_ratio
from dalenius.plans.moments import (
    CLIPPED,
    of_both,
    plan_estimate,
    public_size,
    rows_with,
    sampling_notes,
    squares_part,
    wants_sampling,
    whole_size,
)
from dalenius.plans.pairs import OTHER, OTHER_SQUARES, PairParameters, other_of, products_part, total_part
from dalenius.spec.document import Exact, Part
from dalenius.spec.method import WHICH_ERROR, AnswerKind, FieldKind, FormField, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.ratio import Ratio
from dalenius.translation import texts, translated

__all__ = ["RatioMethod"]

SQUARES = Fraction(1, 15)


class RatioParameters(PairParameters):
    """Keys of a ratio: the variable below the line, of how many units of it, and which error."""

    per: Exact = Fraction(1)
    error: Literal["noise", "sampling"] = "sampling"


class RatioMethod(Method):
    """Total of one variable / total of another, over the rows that have both."""

    name: str = "ratio"
    takes_weight: bool = True
    answer: AnswerKind = AnswerKind.NUMBER
    is_offered: bool = False
    form_fields: Mapping[str, FormField] = {
        "other": FormField(kind=FieldKind.VARIABLE, labels=texts("To the total of"), is_needed=True),
        "error": WHICH_ERROR,
    }
    Parameters: type[Part] = RatioParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Ratio of {of} to {other} {per}",
            preview="In a cell of {records} records spread evenly over the bounds, expect the ratio to be off by at "
            "most ± {error} (95 %) through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a ratio is missing where the released "
            "total below the line is too small.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="ratio", of="income", other="age", rho=2),
        example(measure="ratio", of="income", other="age", per=1000, error="noise", epsilon=2),
        example(measure="ratio", of="income", other="age", weight="weight", rho=2),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """Two totals, and the squares and products if they are asked for."""
        if question.weight is not None:
            return plan_weighted_ratio(question)
        other, beside = other_of(question)
        bounds, has_sampling = question.bounds, wants_sampling(question)
        per = rational(question.parameter("per", 1), "per")
        if per <= 0:
            raise ParameterError("per must be positive: 1 for a ratio, 1000 for a rate.", name="per")
        if beside.low < 0:
            raise Unsupported(
                f"The variable below the line must not be negative; {other!r} may be, by its bounds.", variable=other
            )
        size, query = public_size(question, other), rows_with(question, other)
        is_complete, half = size is not None, (1 - 3 * SQUARES if has_sampling else Fraction(1)) / 2
        parts = [
            total_part(question, query, question.of, half, array="total", centre=0, is_complete=is_complete),
            total_part(question, query, other, half, array=OTHER, centre=0, is_complete=is_complete),
        ]
        if has_sampling:
            parts += [
                squares_part(question, query, question.of, size, SQUARES, centre=0, is_shifted=False),
                products_part(question, query, SQUARES, centres=(0, 0), is_complete=is_complete),
                squares_part(question, query, other, size, SQUARES, array=OTHER_SQUARES, centre=0, is_shifted=False),
            ]
        least = 3 * parts[1].measurement.law.std_error
        return plan_estimate(
            question,
            "ratio",
            f"ratio of {question.of} to {other}",
            tuple(parts),
            {"scale": per * bounds.step / beside.step, "least": Fraction(least).limit_denominator(1000)}
            | of_both(question, other),
            ("0" if bounds.low >= 0 else "-inf", "inf"),
            warnings=(CLIPPED, *sampling_notes(question)),
        )

    @staticmethod
    def statistic(question: Question) -> Any:
        """One ratio of rows of which none can drop out where it is replaced."""
        neighbours, (other, beside), bounds = question.neighbours, other_of(question), question.bounds
        if neighbours.max_rows > 1 or question.space.axes:
            raise Unsupported("The sensitivity of a ratio is of one number, for one row to a unit: no rows or columns.")
        if neighbours.is_replace and public_size(question, other) is None:
            whole_size(question, other)
        return Ratio(
            numerator=question.of,
            denominator=other,
            low=bounds.low,
            high=bounds.high,
            least=beside.low,
            most=beside.high,
        )
