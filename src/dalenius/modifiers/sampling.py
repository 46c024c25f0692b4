"""The error for the process behind the population: sums of products of what rows add are measured too.

Where these are many, one sum of squared influences takes their place, at the released numbers. For units with up to k
rows the variance of sampling is k times that of independent rows.
"""

from dataclasses import replace

from dalenius.plans.design import design_notes, wants_sampling
from dalenius.plans.modifier import Modifier
from dalenius.plans.sum_plan import SumPlan
from dalenius.spec.keys import ErrorKey
from dalenius.spec.notes import note


def _apply(plan: SumPlan) -> SumPlan:
    is_weighted = plan.weight is not None
    is_asked = plan.question.parameter("error", "sampling") == "sampling"
    has_sampling = wants_sampling(plan.question, is_weighted=is_weighted)
    notes = (*plan.notes, *design_notes(plan.question, is_asked=is_asked, is_weighted=is_weighted))
    if has_sampling and is_weighted:
        notes = (*notes, note("design_error"))
    return replace(plan, has_sampling=has_sampling, notes=notes)


SAMPLING = Modifier(
    name="sampling",
    place=60,
    owns="has_sampling",
    keys=ErrorKey,
    example={"table": {"error": "sampling"}},
    is_asked=lambda question: question.parameter("error", "sampling") != "bootstrap",
    apply=_apply,
)
