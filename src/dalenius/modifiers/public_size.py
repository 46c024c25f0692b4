"""A declared size is the known number of rows: it is not paid for.

It is used under replace, where every unit has one row, everybody is in one cell, and no row can drop out: the sum of
weights, the size of a cell and the number of rows that have a value are not public.
"""

from dataclasses import replace

from dalenius.plans.design import public_size
from dalenius.plans.modifier import Modifier
from dalenius.plans.sum_plan import SumPlan


def _apply(plan: SumPlan) -> SumPlan:
    if plan.weight is not None:
        return plan
    others = [variable for role, variable in plan.variables.items() if role != "x"]
    return replace(plan, size=public_size(plan.question, *others))


PUBLIC_SIZE = Modifier(
    name="public_size",
    place=50,
    owns="size",
    example={"dataset": {"size": 27}, "unit": {"relation": "replace"}},
    is_asked=lambda question: True,
    apply=_apply,
)
