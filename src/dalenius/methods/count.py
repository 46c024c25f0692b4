"""Number of records in each cell: one table, a list of margins, a weighted table, or one count at the data."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported
from dalenius.measurements.keyed_list import KeyedList
from dalenius.measurements.noisy import Noisy
from dalenius.methods._perturbed import named_step, plan_step, refuse_step
from dalenius.methods._public import refuse_public_alone
from dalenius.methods._range_count import plan_range_count
from dalenius.methods._sampled_count import plan_sampled
from dalenius.methods.margins.plan import plan_margins
from dalenius.methods.margins.weighted import plan_weighted_list
from dalenius.plans.priced import additive_preview, priced, shown_as
from dalenius.plans.ranged_count import ordered_ranges, plan_ranged
from dalenius.plans.refined_count import DEFAULT_SHARE, plan_refined
from dalenius.plans.ruled_noise import mechanism_for
from dalenius.plans.weighted import plan_weighted
from dalenius.spec.axis import Ranges
from dalenius.spec.document import Exact, Part, Whole
from dalenius.spec.method import Method, Words, example
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.contingency_table import ContingencyTable
from dalenius.statistics.count import Count
from dalenius.translation import translated

__all__ = ["CountMethod"]


class CountParameters(Part):
    """Keys of a count."""

    clamp: str | None = None
    refine: str | None = None
    refine_from: Whole | None = Field(default=None, ge=1)
    refine_share: Exact | None = None
    sample: Exact | None = None
    keyed: Literal[True] | None = None
    ranges: Ranges | None = Field(default=None, min_length=1)


class CountMethod(Method):
    """Signed, unbiased counts of every declared cell."""

    name: str = "count"
    takes_of: bool = False
    counts_records: bool = True
    scopes: tuple[Scope, ...] = (Scope.ALL_DATA, Scope.ACTUAL_DATA, Scope.GIVEN_THE_PUBLIC)
    Parameters: type[Part] = CountParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Number of records",
            preview="Expect each count to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], columns=["region"], epsilon=1),
        example(rows=["sex"], columns=["status"], margins="all", rho="1/4"),
        example(rows=["sex"], weight="weight", rho="1/4"),
        example(rows=["region"], refine="half", refine_from=5, epsilon=2),
        example(rows=["sex"], columns=["region"], keyed=True, epsilon=1),
        example(rows=["sex"], columns=["region"], sample="1/2", epsilon=1),
        example(rows=["region"], columns=["sex"], ranges={"region": "all"}, rho="1/4"),
        example(where={"age": {"at_least": 18, "at_most": 65}}, definition="individual", epsilon=1),
        example(rows=["sex"], columns=["region"], weight="weight", margins=[["sex", "region"], ["sex"], []], rho=1),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """The plan of the route that the request takes."""
        if question.scope is Scope.ACTUAL_DATA:
            return plan_range_count(question)
        if question.scope is Scope.GIVEN_THE_PUBLIC:
            refuse_step(question)
            return _table(question)
        if question.weight is not None:
            refuse_step(question)
            return plan_weighted(question) if question.margins is None else plan_weighted_list(question)
        if question.parameter("ranges") is not None:
            refuse_step(question)
            return plan_ranged(question)
        if question.margins is not None or question.strategy is not None:
            refuse_step(question)
            return plan_margins(question)
        if question.parameter("refine") is not None:
            refuse_step(question)
            return plan_refined(question)
        if question.parameter("sample") is not None:
            refuse_step(question)
            return plan_sampled(question)
        return _table(question)

    @staticmethod
    def statistic(question: Question) -> Any:
        """The table of counts."""
        return ContingencyTable(query=question.query)

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        """Ranges in order, and a refinement without its usual share."""
        canonical = dict(keys)
        if "ranges" in canonical:
            canonical["ranges"] = ordered_ranges(canonical["ranges"])
        if "refine" in keys and rational(keys.get("refine_share", 0)) == DEFAULT_SHARE:
            del canonical["refine_share"]
        return canonical


def _table(question: Question) -> TablePlan:
    name = " x ".join(axis.name for axis in question.space.axes) or "total"
    step = named_step(question, name)
    if step is not None:
        return plan_step(question, step)
    statistic = Count(question.query)
    mechanism = _ruled(question, refuse_public_alone(question, statistic.sensitivity(question.neighbours)))
    is_keyed = question.parameter("keyed") is not None
    measurement: Noisy | KeyedList = Noisy(name, statistic, mechanism)
    if is_keyed:
        measurement = KeyedList(name, question.query, mechanism, question.domain)
    return priced(
        question,
        (measurement,),
        shown_as("count"),
        mechanism=mechanism.name,
        strategy="keyed_list" if is_keyed else "table",
        preview=additive_preview(question, measurement.law),
        warnings=(note("keyed_list"),) if is_keyed else (),
        refusal=f"{mechanism.name} noise does not fit {question.budget.definition!r} at this budget.",
    )


def _ruled(question: Question, sensitivity: Sensitivity) -> Any:
    """The mechanism that the policy's table rules ask for, or the chosen one."""
    rules = question.policy.table
    if not rules.maximum_entropy and rules.truncation is None:
        return question.choose(sensitivity)
    mechanism = mechanism_for(rules, sensitivity, question.neighbours.relation, question.definition, question.budget)
    if question.mechanism not in (None, mechanism.name):
        raise Unsupported(
            f"The policy's table rules ask for {mechanism.name!r} noise; the request names {question.mechanism!r}."
        )
    return mechanism
