"""Rows count by a declared weight: every sum becomes one of w times what it was.

One row moves a sum by its weight times its value, so that the noise follows the largest declared weight. The error of
the design needs sums of squared weights, which are confidential too, and charged.
"""

from dataclasses import replace

from dalenius.algebra.estimator import ROWS
from dalenius.core.domain import Bounds
from dalenius.core.rationals import rational
from dalenius.errors import ParameterError, Unsupported
from dalenius.plans.modifier import Modifier
from dalenius.plans.sum_plan import SumPlan, Weight
from dalenius.plans.weighted import fixed_weight
from dalenius.spec.document import Exact, Part, usual
from dalenius.spec.notes import note

# A share by which weights are regularised has at most so large a denominator.
_MOST_PARTS = 100


class WeightKeys(Part):
    """How far weights are drawn towards a common one."""

    regularise: Exact | None = usual(
        None,
        "How far weights are drawn towards a common one, from 0 to 1: less noise, for another mean "
        "where weights go with the variable.",
    )
    common_weight: Exact | None = usual(
        None, "The weight towards which they are drawn; the middle of the declared ones if left out."
    )


def _apply(plan: SumPlan) -> SumPlan:
    question = plan.question
    weight, weights = fixed_weight(question, *plan.variables.values())
    named = question.parameter("regularise")
    if named is None:
        return replace(plan, weight=Weight(variable=weight, bounds=weights), notes=(note("fixed_weights"), *plan.notes))
    if ROWS not in plan.reads:
        raise Unsupported("Weights are regularised where a mean is asked for: leave regularise out.", key="regularise")
    regular = _regular(plan, weight, weights, named)
    return replace(plan, weight=regular, notes=(note("regularised"), note("fixed_weights"), *plan.notes))


def _regular(plan: SumPlan, weight: str, weights: Bounds, named: object) -> Weight:
    """Weights drawn by a declared share to a declared weight, or to the middle of the bounds."""
    part = rational(named, "regularise")
    if not 0 < part < 1 or part.denominator > _MOST_PARTS:
        raise ParameterError(
            f"regularise is a share between 0 and 1, of at most {_MOST_PARTS} parts: 0.5 draws every weight half of "
            "the way to the common one. For 1 leave the weight out.",
            name="regularise",
        )
    middle = (weights.low + weights.high) // 2 * weights.step
    common = rational(plan.question.parameter("common_weight", middle), "common_weight") / weights.step
    if common.denominator != 1 or not max(weights.low, 1) <= common <= weights.high:
        raise ParameterError(
            "common_weight must be one of the declared weights, above 0 and a multiple of their step.",
            name="common_weight",
        )
    return Weight(
        variable=weight,
        bounds=weights,
        multiple=part.denominator - part.numerator,
        common=part.numerator * int(common),
        parts=part.denominator,
    )


WEIGHTED = Modifier(
    name="weighted",
    place=20,
    owns="weight",
    keys=WeightKeys,
    belongs={"regularise": "weight", "common_weight": "weight"},
    example={"table": {"weight": "weight"}},
    is_asked=lambda question: question.weight is not None,
    apply=_apply,
)
