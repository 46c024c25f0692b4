"""Share of the records of each cell that have some property, with the errors of noise and of sampling.

Records with the property and records without it are counted side by side: each record is in one of the two counts, so
that both together cost what one count costs. Where the number of rows is public only the first is measured. `per =
1000` makes it a rate.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, CellSpace
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.errors import ParameterError, Unsupported
from dalenius.plans.design import design_notes
from dalenius.plans.moments import MeasuredPart, noisy, plan_estimate, public_size
from dalenius.plans.replicates import Resampled, half_width_of, plan_replicates
from dalenius.spec.axis import ConditionPart, condition_filter
from dalenius.spec.document import Category, Exact, Part, category
from dalenius.spec.method import AnswerKind, FieldKind, FormField, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.translation import texts, translated

__all__ = ["ProportionMethod"]


class ProportionParameters(Part):
    """Keys of a proportion: which records have the property, and of how many the share is given."""

    takes_categories: ClassVar[bool] = True

    among: Category | tuple[Category, ...] | None = None
    at_least: Exact | None = None
    at_most: Exact | None = None
    per: Exact = Fraction(1)
    error: Literal["bootstrap"] | None = None
    replicates: int | None = None


class ProportionMethod(Method):
    """Records with a property / records that have the variable."""

    name: str = "proportion"
    answer: AnswerKind = AnswerKind.NUMBER
    is_offered: bool = False
    form_fields: Mapping[str, FormField] = {
        "among": FormField(kind=FieldKind.CATEGORIES, labels=texts("Share of the records with"), is_needed=True)
    }
    # Whole percentages are easier to read than parts of one.
    form_keys: Mapping[str, Any] = {"per": 100}
    Parameters: type[Part] = ProportionParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Proportion with {of} {within} {per}",
            preview="In a cell of {records} records, expect the proportion to be off by at most ± {error} (95 %) "
            "through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a proportion is missing where the released "
            "count is below one.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["region"], measure="proportion", of="status", among=["married"], epsilon=1),
        example(measure="proportion", of="income", at_least=10, at_most=20, per=1000, rho="1/4"),
        example(
            measure="proportion",
            of="status",
            among=["married"],
            error="bootstrap",
            replicates=5,
            epsilon=2,
            delta="1/1000000",
        ),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """One table of counts with an axis more, or one of the records with the property."""
        condition, scale = _condition(question), rational(question.parameter("per", 1), "per")
        if scale <= 0:
            raise ParameterError("per must be positive: 1 for a share, 100 for percent, 1000 for a rate.", name="per")
        if question.parameter("error") is not None:
            return _replicated(question, condition, scale)
        return _counted(question, condition, scale)

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        """Categories as a list, each once and in order."""
        if "among" not in keys:
            return dict(keys)
        labels = keys["among"] if isinstance(keys["among"], list | tuple) else [keys["among"]]
        return {**keys, "among": sorted({category(label) for label in labels})}


def _replicated(question: Question, condition: Filter, scale: Fraction) -> TablePlan:
    """Replicates of records with the property less the others, and their number where it is not public."""
    axis, arrays = _axis(question, condition)
    return plan_replicates(
        question,
        "proportion",
        f"proportion by {question.of}",
        Resampled.of_classes(question, axis, arrays),
        size=public_size(question),
        is_quotient=True,
        scale=scale,
        limits=(Fraction(0), scale),
        moments=half_width_of(question, lambda asked: _counted(asked, condition, scale)),
    )


def _counted(question: Question, condition: Filter, scale: Fraction) -> TablePlan:
    """By two counts, or by one where the number of rows is public."""
    size = public_size(question)
    if size is not None:
        inside = replace(question.query, where=(*question.where, condition))
        part = MeasuredPart(
            arrays=("inside",),
            measurement=noisy(question, "records with the property", Count(inside), Fraction(1)),
            typical=(0.5,),
        )
    else:
        axis, arrays = _axis(question, condition)
        zeros = frozenset((*cell, k) for cell in question.space.structural_zeros for k in range(len(axis)))
        space = CellSpace((*question.space.axes, axis), zeros)
        counts = Count(replace(question.query, space=space))
        part = MeasuredPart(
            arrays=arrays,
            measurement=noisy(question, "records with and without the property", counts, Fraction(1)),
            typical=tuple(0.5 if name == "inside" else 0.5 / (len(arrays) - 1) for name in arrays),
        )
    return plan_estimate(
        question,
        "proportion",
        f"proportion by {question.of}",
        (part,),
        {"size": size, "scale": scale},
        (Fraction(0), scale),
        warnings=design_notes(question),
    )


def _condition(question: Question) -> Filter:
    """The property as a condition on the variable."""
    ends = {name: question.parameter(name) for name in ("at_least", "at_most")}
    among = question.parameter("among")
    variable = question.domain.variable(question.of)
    has_ends = any(end is not None for end in ends.values())
    if (among is not None, has_ends) != (not variable.is_numeric, variable.is_numeric):
        raise Unsupported(
            f"A proportion says which records have the property: {question.of!r} "
            + (
                "is numeric, so write at_least or at_most."
                if variable.is_numeric
                else 'has categories, so write among = ["…"].'
            ),
            variable=question.of,
        )
    if question.of in {axis.variable for axis in question.space.axes}:
        raise Unsupported(f"{question.of!r} stands on an axis already; a share by it is 0 or 1 in every cell.")
    exact = {name: None if end is None else rational(end, name) for name, end in ends.items()}
    asked = ConditionPart(**exact) if variable.is_numeric else tuple(among)
    return condition_filter(question.of, asked, question.domain)


def _axis(question: Question, condition: Filter) -> tuple[Axis, tuple[str, ...]]:
    """Records with the property and the others as an axis, and what its cells are called."""
    domain = question.domain.variable(question.of).domain
    if not isinstance(domain, Bounds):
        codes = tuple(0 if code in condition.codes else 1 for code in range(len(domain)))
        if len(set(codes)) == 1:
            raise Unsupported(f"Every category of {question.of!r} has the property; its share is 1.")
        return Axis(variable=question.of, labels=("with", "without"), codes=codes), ("inside", "outside")
    low = domain.low if condition.low is None else max(condition.low, domain.low)
    high = domain.high if condition.high is None else min(condition.high, domain.high)
    if low > high or (low, high) == (domain.low, domain.high):
        raise Unsupported(
            f"Every value of {question.of!r} between its bounds has the property, or none; its share is known."
        )
    cuts = sorted({domain.low, low, high + 1, domain.high + 1})
    arrays, others = [], iter(("outside", "beyond"))
    for cut in cuts[:-1]:
        arrays.append("inside" if cut == low else next(others))
    return Axis(variable=question.of, labels=tuple(arrays), cuts=tuple(cuts)), tuple(arrays)
