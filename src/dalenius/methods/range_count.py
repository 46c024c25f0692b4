"""How many records have a number in a range: one count, cut to what a count can be."""

from dataclasses import replace
from fractions import Fraction

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.rationals import rational
from dalenius.errors import Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.data_dependent import plan_one_count
from dalenius.plans.priced import plan_additive
from dalenius.spec.axis import ConditionPart, condition_filter
from dalenius.spec.document import DEFAULT_MEASURE, Exact, Part, usual
from dalenius.spec.method import FieldKind, FormField, Method, Words, exact_texts, example
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.translation import texts, translated

__all__ = ["RANGE_COUNT"]

# No table has more records than a document can write exactly.
_MOST = 1 << 53


class RangeCountParameters(Part):
    """Keys of a range count: its ends, both included, and how the answer is cut at the data."""

    at_least: Exact | None = usual(None, "The lower end, which counts.")
    at_most: Exact | None = usual(None, "The upper end, which counts.")
    clamp: str | None = usual(None, "How an answer at the actual data is cut.")


def _plan(question: Question) -> TablePlan:
    """One count under the condition that the range is."""
    if question.space.axes:
        raise Unsupported(
            "A range count is one number: use where, or ask for counts with an axis of cuts.", measure=question.method
        )
    query = _in_range(question)
    if question.scope is not Scope.ALL_DATA:
        return plan_one_count(question, query)
    statistic = Count(query)
    mechanism = question.choose(statistic.sensitivity(question.neighbours))
    size = question.domain.public_size if question.neighbours.is_replace else None
    most = _MOST if size is None else size * question.neighbours.max_rows
    step = Noisy(f"{question.of} in the range", statistic, mechanism)
    return plan_additive(question, step, DEFAULT_MEASURE, limits=(0.0, float(most)))


def _in_range(question: Question) -> TableQuery:
    """The records under the conditions whose value is in the range."""
    ends = {name: question.parameter(name) for name in ("at_least", "at_most")}
    if all(end is None for end in ends.values()):
        raise Unsupported("A range count needs at_least, at_most, or both.", measure=question.method)
    if any(condition.variable == question.of for condition in question.where):
        raise Unsupported(f"The range of {question.of!r} is said once: leave it out of where.")
    part = ConditionPart(**{name: None if end is None else rational(end, name) for name, end in ends.items()})
    condition = condition_filter(question.of, part, question.domain)
    return replace(question.query, where=(*question.where, condition))


RANGE_COUNT = Method(
    name="range_count",
    plan=_plan,
    is_offered=False,
    is_one_number=True,
    scopes=(Scope.ALL_DATA, Scope.ACTUAL_DATA),
    Parameters=RangeCountParameters,
    form_fields={
        "at_least": FormField(kind=FieldKind.NUMBER, labels=texts("At least"), part=Fraction(0)),
        "at_most": FormField(kind=FieldKind.NUMBER, labels=texts("At most"), part=Fraction(1)),
    },
    words=translated(
        Words(
            title="Number of records with {of} {within}",
            preview="Expect the number to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}; the number is cut to what it can be.",
        )
    ),
    examples=(
        example(measure="range_count", of="age", at_least=18, at_most=65, epsilon=1),
        example(measure="range_count", of="age", at_least=30, definition="individual", epsilon=1),
    ),
    canonical_keys=lambda keys: exact_texts(keys, "at_least", "at_most"),
)
