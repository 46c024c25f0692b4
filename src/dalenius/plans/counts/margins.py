"""A list of margins that add up, measured by the strategy of least error."""

from dalenius.plans.count_route import CountRoute
from dalenius.plans.margins.plan import plan_margins
from dalenius.spec.method import example

MARGINS = CountRoute(
    place=50,
    is_asked=lambda question: question.margins is not None or question.strategy is not None,
    plan=plan_margins,
    examples=(example(rows=["sex"], columns=["status"], margins="all", rho="1/4"),),
)
