"""Values are cut to bounds that are learned first, from a declared list of candidates."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from dalenius.algebra.estimator import ROWS, Estimator
from dalenius.core.rationals import rational
from dalenius.errors import Unsupported
from dalenius.plans.learned_bounds import TAIL, between_learned_bounds
from dalenius.plans.modifier import Modifier
from dalenius.plans.sum_plan import SumPlan
from dalenius.spec.document import Exact, Part, usual
from dalenius.spec.method import exact_texts

__all__ = ["LEARNED_BOUNDS"]


class LearnedBoundsKeys(Part):
    """The share of the budget that the bounds take, and among which they are chosen."""

    learn_bounds: Exact | None = usual(
        None, "The share of the budget by which bounds narrower than the declared ones are chosen from the data."
    )
    candidates: tuple[Exact, ...] = usual(
        (), "Among which bounds it is chosen; a grid between the declared ones if left out."
    )
    tail: Exact | None = usual(None, "Which share of the records may lie beyond each chosen bound.")
    bound_clipped: Literal[True] | None = usual(
        None, "Whether the number of clipped rows is measured, so that intervals hold for values that are not clipped."
    )


def _apply(plan: SumPlan) -> SumPlan:
    question = plan.question
    if question.parameter("error", "sampling") not in ("noise", "sampling") or question.margins is not None:
        raise Unsupported(
            'A mean with learned bounds is one table with error = "sampling" or error = "noise".', key="learn_bounds"
        )
    if plan.weight is not None:
        raise Unsupported(
            "Bounds are learned for means without weights. Leave weight or learn_bounds out.", key="learn_bounds"
        )
    return replace(plan, finish=between_learned_bounds, notes=())


def _refuses(estimator: Estimator) -> str:
    if estimator.cuts_bias:
        return "What learned bounds cut off is what this number measures. Leave learn_bounds out."
    if any(need.product.endswith(" in") for need in estimator.reads):
        return "Rows are counted, and there is no value to cut. Leave learn_bounds out."
    if {need.product for need in estimator.reads} != {ROWS, "x"}:
        return "Bounds are learned for means; a total learns them cell by cell. Leave learn_bounds out."
    return ""


def _canonical(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Candidates as exact text; the usual tail is not repeated."""
    if "learn_bounds" not in keys:
        return dict(keys)
    canonical = exact_texts(keys, "candidates")
    if "tail" in canonical and rational(canonical["tail"], "tail") == TAIL:
        del canonical["tail"]
    return canonical


LEARNED_BOUNDS = Modifier(
    name="learned_bounds",
    place=40,
    owns="finish",
    keys=LearnedBoundsKeys,
    belongs={"candidates": "learn_bounds", "tail": "learn_bounds", "bound_clipped": "learn_bounds"},
    example={"table": {"learn_bounds": "1/5", "candidates": [0, 20, 40]}},
    is_asked=lambda question: question.parameter("learn_bounds") is not None,
    apply=_apply,
    refuses=_refuses,
    canonical=_canonical,
)
