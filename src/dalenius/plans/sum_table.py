"""One table of an estimator's numbers: of all ways to measure its sums the one with the least predicted error."""

from dalenius.core.plan import TablePlan
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.sum_layouts import layouts
from dalenius.plans.sum_plan import SumPlan, finished, law_of


def as_table(plan: SumPlan) -> TablePlan:
    """Return the priced plan. Raises the refusal of the last way where none can be planned."""
    plans: list[TablePlan] = []
    refusal: Exception | None = None
    for make in layouts(plan):
        try:
            made = make().measured(plan.question)
            plans.append(finished(plan, made, law_of(plan, made)))
        except (Unsupported, TooLarge) as error:
            refusal = error
    if not plans:
        assert refusal is not None
        raise refusal
    return min(plans, key=lambda each: float(each.preview["std_error"]))
