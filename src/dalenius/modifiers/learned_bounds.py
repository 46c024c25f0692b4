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
from dalenius.spec.document import usual
from dalenius.spec.keys import BeyondKey, ClipKey, LearnKey
from dalenius.spec.method import exact_texts


class LearnedBoundsKeys(BeyondKey, ClipKey, LearnKey):
    """The share of the budget that the bounds take, and among which they are chosen."""

    bound_clipped: Literal[True] | None = usual(
        None, "Whether the number of clipped rows is measured, so that intervals hold for values that are not clipped."
    )


def _apply(plan: SumPlan) -> SumPlan:
    question = plan.question
    if question.parameter("error", "sampling") not in ("noise", "sampling") or question.margins is not None:
        raise Unsupported(
            'A mean with learned bounds is one table with error = "sampling" or error = "noise".', key="learn"
        )
    if plan.weight is not None:
        raise Unsupported("Bounds are learned for means without weights. Leave weight or learn out.", key="learn")
    return replace(plan, finish=between_learned_bounds, notes=())


def _refuses(estimator: Estimator) -> str:
    if estimator.cuts_bias:
        return "What learned bounds cut off is what this number measures. Leave learn out."
    if any(need.product.endswith(" in") for need in estimator.reads):
        return "Rows are counted, and there is no value to cut. Leave learn out."
    if {need.product for need in estimator.reads} != {ROWS, "x"}:
        return "Bounds are learned for means; a total learns them cell by cell. Leave learn out."
    return ""


def _canonical(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Candidates as exact text; the usual share beyond them is not repeated."""
    if "learn" not in keys:
        return dict(keys)
    canonical = exact_texts(keys, "clip")
    if "beyond" in canonical and rational(canonical["beyond"], "beyond") == TAIL:
        del canonical["beyond"]
    return canonical


LEARNED_BOUNDS = Modifier(
    name="learned_bounds",
    place=40,
    owns="finish",
    keys=LearnedBoundsKeys,
    belongs={"clip": "learn", "beyond": "learn", "bound_clipped": "learn"},
    example={"table": {"learn": "1/5", "clip": [0, 20, 40]}},
    is_asked=lambda question: question.parameter("learn") is not None,
    apply=_apply,
    refuses=_refuses,
    canonical=_canonical,
)
