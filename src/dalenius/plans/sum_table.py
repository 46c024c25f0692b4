"""One table of an estimator's numbers: of all ways to measure its sums the one with the least predicted widths."""

from dalenius.core.plan import TablePlan
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.sum_layouts import Layout, layouts
from dalenius.plans.sum_plan import SumPlan, finished
from dalenius.plans.sum_shares import MeasuredLayout, shared


def as_table(plan: SumPlan) -> TablePlan:
    """Return the priced plan. Raises the refusal of the last way where none can be planned."""
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
