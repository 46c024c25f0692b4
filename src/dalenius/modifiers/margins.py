"""Every sum along every margin: sums add up, and the number of each shown cell is made of its own sums."""

from dataclasses import replace

from dalenius.errors import Unsupported
from dalenius.plans.margins.estimates import as_list
from dalenius.plans.modifier import Modifier
from dalenius.plans.sum_plan import SumPlan


def _apply(plan: SumPlan) -> SumPlan:
    if plan.question.parameter("error", "sampling") == "bootstrap":
        raise Unsupported(
            "Replicates of lists of margins have no price: a row is in a cell of every margin. Use error = "
            '"sampling", or ask for one table.',
            key="error",
        )
    return replace(plan, finish=as_list)


MARGINS = Modifier(
    name="margins",
    place=70,
    owns="finish",
    example={"table": {"rows": ["region", "sex"], "margins": "all"}},
    is_asked=lambda question: question.margins is not None,
    apply=_apply,
)
