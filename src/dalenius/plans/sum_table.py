"""One table of an estimator's numbers: of all ways to measure its sums the one with the least predicted widths."""

from dataclasses import replace
from fractions import Fraction

from dalenius.algebra.estimator import ROWS
from dalenius.core.plan import TablePlan
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.sum_layouts import Layout, layouts
from dalenius.plans.sum_plan import UPPER_TAILS, SumPlan, finished
from dalenius.plans.sum_shares import MeasuredLayout, shared
from dalenius.spec.notes import note

# The shares of the budget for bounds, where these are learned, and of the rest for squares.
LEARNED, SQUARES = Fraction(1, 5), Fraction(1, 10)


def as_table(plan: SumPlan) -> TablePlan:
    """Return the priced plan. Where products of sums are too large for an engine, the error of sampling comes from
    squared influences, and where these are too, there is none unless it was asked for. Raises the refusal of the last
    way.
    """
    try:
        return _planned(plan)
    except (Unsupported, TooLarge) as refusal:
        if not plan.products:
            raise
        first = refusal
    try:
        if plan.classes is None and plan.size is None:
            return _planned(replace(plan, most_products=0))
    except (Unsupported, TooLarge):
        pass
    if plan.question.parameter("error") is not None:
        raise first
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
    plan_of_table = finished(plan, made.parts, made.law)
    if plan.reads != (ROWS, "x") or plan.classes is not None or plan.weight is not None or plan.size is not None:
        return plan_of_table
    # What bounds that are learned would give. So much is left of the budget of totals, in which the variance of noise
    # goes with one over rho, or with one over the square of epsilon.
    left = float((1 - LEARNED) * (1 - SQUARES if plan.has_sampling else 1) / made.shares[0])
    preview = plan_of_table.preview
    wide = preview["half_width_95"] / left ** (1 if plan.question.budget.epsilon is not None else 0.5)
    offered = [
        {"upper_tail": tail, "half_width_95": float(f"{wide * float(Fraction(tail)):.9g}")} for tail in UPPER_TAILS
    ]
    return replace(plan_of_table, preview={**preview, "by_upper_tail_with_learned_bounds": offered})
