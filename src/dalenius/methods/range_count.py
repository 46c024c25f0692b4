"""How many records have a number in a range: one count, cut to what a count can be."""

from collections.abc import Mapping
from dataclasses import replace

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.errors import Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.data_dependent import plan_one_count
from dalenius.plans.priced import plan_additive
from dalenius.spec.axis import condition_filter
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.keys import AmongKey, ClampKey, canonical_condition, condition_of
from dalenius.spec.method import FieldKind, FormField, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.count import Count
from dalenius.translation import texts, translated

# No table has more records than a document can write exactly.
_MOST = 1 << 53


class RangeCountParameters(ClampKey, AmongKey):
    """Keys of a range count: its ends, both included, and how the answer is cut at the data."""


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
    among = question.parameter("among")
    if not isinstance(among, Mapping):
        raise Unsupported(
            "A range count needs among = { at_least = …, at_most = … }, or one end of it.", measure=question.method
        )
    if any(condition.variable == question.of for condition in question.where):
        raise Unsupported(f"The range of {question.of!r} is said once: leave it out of where.")
    condition = condition_filter(question.of, condition_of(among), question.domain)
    return replace(question.query, where=(*question.where, condition))


RANGE_COUNT = Method(
    name="range_count",
    plan=_plan,
    is_offered=False,
    is_one_number=True,
    scopes=(Scope.ALL_DATA, Scope.ACTUAL_DATA),
    Parameters=RangeCountParameters,
    form_fields={"among": FormField(kind=FieldKind.BETWEEN, labels=texts("Between"), is_needed=True)},
    words=translated(
        Words(
            title="Number of records with {of} {within}",
            preview="Expect the number to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}; the number is cut to what it can be.",
        )
    ),
    examples=(
        example(measure="range_count", of="age", among={"at_least": 18, "at_most": 65}, epsilon=1),
        example(measure="range_count", of="age", among={"at_least": 30}, definition="individual", epsilon=1),
    ),
    canonical_keys=lambda keys: canonical_condition(keys, "among"),
)
