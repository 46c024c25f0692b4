"""One table of an estimator's numbers: of all ways to measure its sums the one with the least predicted widths."""

from dataclasses import replace

from dalenius.core.plan import TablePlan
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.sum_layouts import Layout, layouts
from dalenius.plans.sum_plan import SumPlan, finished
from dalenius.plans.sum_shares import MeasuredLayout, shared
from dalenius.spec.notes import note


def as_table(plan: SumPlan) -> TablePlan:
    """Return the priced plan. Where products of sums are too large for an engine, the error of sampling comes from
    squared influences, and where these are too, there is none. Raises the refusal of the last way.
    """
    try:
        return _planned(plan)
    except (Unsupported, TooLarge):
        if not plan.products or plan.question.parameter("error") is not None:
            raise
    try:
        if plan.classes is None and plan.size is None:
            return _planned(replace(plan, most_products=0))
    except (Unsupported, TooLarge):
        pass
    notes = (*plan.notes, note("squares_too_large", of=plan.question.of))
    return _planned(replace(plan, has_sampling=False, notes=notes))


def _planned(plan: SumPlan) -> TablePlan:
    starts: list[MeasuredLayout] = []
    others: list[Layout] = []
    refusal: Exception | None = None
    for make in layouts(plan):
        try:
            layout = make()
            if starts:
                others.append(layout)
            else:
                starts.append(MeasuredLayout.of(plan, layout))
        except (Unsupported, TooLarge) as error:
            refusal = error
    if not starts:
        assert refusal is not None
        raise refusal
    made = shared(starts[0], others)
    return finished(plan, made.parts, made.law)
