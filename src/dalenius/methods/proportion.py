"""Share of the records of each cell that have some property, with the errors of noise and of sampling.

Records with the property and records without it are counted side by side: each record is in one of the two counts, so
that both together cost what one count costs. Where the number of rows is public only the first is measured. `per =
1000` makes it a rate.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds
from dalenius.errors import Unsupported
from dalenius.methods._plan import AnswerKind, EstimateMethod, RateKeys, rate_of
from dalenius.plans.sum_plan import Classes, SumPlan
from dalenius.spec.axis import condition_filter
from dalenius.spec.keys import AmongKey, canonical_condition, condition_of
from dalenius.spec.method import FieldKind, FormField, Words, example
from dalenius.spec.question import Question
from dalenius.translation import texts, translated


class PropertyKeys(AmongKey):
    """Which records have the property."""

    takes_categories: ClassVar[bool] = True


def _prepare(plan: SumPlan) -> SumPlan:
    condition = _condition(plan.question)
    axis, is_inside = _axis(plan.question, condition)
    inside = tuple(place for place, is_one in enumerate(is_inside) if is_one)
    classes = Classes(axis=axis, groups={"x in": inside}, condition=condition)
    return replace(plan, classes=classes, per=rate_of(plan.question), notes=())


def _condition(question: Question) -> Filter:
    """The property as a condition on the variable."""
    among = question.parameter("among")
    variable = question.domain.variable(question.of)
    has_ends = isinstance(among, Mapping) and "groups" not in among
    if among is None or has_ends != variable.is_numeric:
        raise Unsupported(
            f"A proportion says which records have the property: {question.of!r} "
            + (
                "is numeric, so write among = { at_least = …, at_most = … }, or one end."
                if variable.is_numeric
                else 'has categories, so write among = ["…"].'
            ),
            variable=question.of,
        )
    if question.of in {axis.variable for axis in question.space.axes}:
        raise Unsupported(
            f"{question.of!r} stands on an axis already; a share by it is 0 or 1 in every cell. Leave it out of rows,"
            " columns and layers, or ask for a count."
        )
    return condition_filter(question.of, condition_of(among), question.domain)


def _axis(question: Question, condition: Filter) -> tuple[Axis, tuple[bool, ...]]:
    """Records with the property and the others as an axis, and which of its cells have the property."""
    domain = question.domain.variable(question.of).domain
    if not isinstance(domain, Bounds):
        codes = tuple(0 if code in condition.codes else 1 for code in range(len(domain)))
        if len(set(codes)) == 1:
            raise Unsupported(f"Every category of {question.of!r} has the property; its share is 1.")
        return Axis(variable=question.of, labels=("with", "without"), codes=codes), (True, False)
    low = domain.low if condition.low is None else max(condition.low, domain.low)
    high = domain.high if condition.high is None else min(condition.high, domain.high)
    if low > high or (low, high) == (domain.low, domain.high):
        raise Unsupported(
            f"Every value of {question.of!r} between its bounds has the property, or none; its share is known."
        )
    cuts = sorted({domain.low, low, high + 1, domain.high + 1})
    labels = tuple("inside" if cut == low else f"outside {place}" for place, cut in enumerate(cuts[:-1]))
    return Axis(variable=question.of, labels=labels, cuts=tuple(cuts)), tuple(cut == low for cut in cuts[:-1])


PROPORTION = EstimateMethod(
    name="proportion",
    answer=AnswerKind.NUMBER,
    is_offered=False,
    keys=(PropertyKeys, RateKeys),
    prepare=_prepare,
    canonical=lambda keys: canonical_condition(keys, "among"),
    form_fields={
        "among": FormField(kind=FieldKind.CATEGORIES, labels=texts("Share of the records with"), is_needed=True)
    },
    # Whole percentages are easier to read than parts of one.
    form_keys={"per": 100},
    words=translated(
        Words(
            title="Proportion with {of} {within} {per}",
            preview="In a cell of {records} records, expect the proportion to be off by at most ± {error} (95 %) "
            "through privacy noise; in smaller cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a proportion is missing where the released "
            "count is below one.",
        )
    ),
    examples=(
        example(rows=["region"], measure="proportion", of="status", among=["married"], epsilon=1),
        example(measure="proportion", of="income", among={"at_least": 10, "at_most": 20}, per=1000, rho="1/4"),
        example(
            measure="proportion",
            of="status",
            among=["married"],
            error="bootstrap",
            replicates=5,
            epsilon=2,
            delta="1/1000000",
        ),
    ),
)
