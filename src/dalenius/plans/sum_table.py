"""One table of an estimator's numbers: of all ways to measure its sums the one with the least predicted error."""

from dalenius.core.plan import TablePlan
from dalenius.errors import TooLarge, Unsupported
from dalenius.plans.sum_parts import options
from dalenius.plans.sum_plan import SumPlan, finished, law_of


def as_table(plan: SumPlan) -> TablePlan:
    """Return the priced plan. Raises the refusal of the last way where none can be planned."""
    plans: list[TablePlan] = []
    refusal: Exception | None = None
    for measured in options(plan):
        try:
            parts = measured()
            plans.append(finished(plan, parts, law_of(plan, parts)))
        except (Unsupported, TooLarge) as error:
            refusal = error
    if not plans:
        assert refusal is not None
        raise refusal
    return min(plans, key=lambda each: float(each.preview["std_error"]))
