"""Sums of survey weights instead of records: one table, or a list of margins."""

from dalenius.plans.count_route import CountRoute
from dalenius.plans.margins.weighted import plan_weighted_list
from dalenius.plans.weighted import plan_weighted
from dalenius.spec.method import example

WEIGHTED = CountRoute(
    place=30,
    is_asked=lambda question: question.weight is not None,
    # Sums of weights, and of their squares for the error of the design.
    plan=lambda question: plan_weighted(question) if question.margins is None else plan_weighted_list(question),
    examples=(
        example(rows=["sex"], weight="weight", rho="1/4"),
        example(rows=["sex"], columns=["region"], weight="weight", margins=[["sex", "region"], ["sex"], []], rho=1),
    ),
)
