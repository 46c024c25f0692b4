"""Plans of estimates whose error of sampling comes from replicates of how far rows move them, at the released numbers.

Half of the budget is for the sums, and half for the replicates: what rows move a number by is one number, so that their
price does not depend on how many sums there are.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.algebra.estimates import BOOTSTRAP, estimated, sums_of
from dalenius.algebra.intervals import influence_of
from dalenius.core.domain import CellSpace
from dalenius.core.plan import TablePlan, TwoStepPlan
from dalenius.core.release import Block
from dalenius.measurements.resampled_totals import ResampledTotals
from dalenius.plans.design import design_notes
from dalenius.plans.priced import priced, share
from dalenius.plans.resampling import check_resampling, cluster_notes, resampling_price, with_axis, with_spread
from dalenius.plans.sum_parts import influence_rows, reads_of, typical_influence
from dalenius.plans.sum_plan import MeasuredPart, SumPlan, estimate_tables, law_of, named, preview_of, typical_blocks
from dalenius.spec.notes import note

# Influences are resampled in so many parts of the largest one.
_REACH = 1 << 10


def resampled_influences(plan: SumPlan) -> TablePlan:
    """The estimate from its sums, and replicates of how far rows move it at the released numbers."""
    question, half = plan.question, Fraction(1, 2)
    check_resampling(question)
    sums = replace(plan, question=replace(question, budget=share(question.budget, half)), has_sampling=True)
    parts = reads_of(sums)
    price = resampling_price(question, share(question.budget, half), _REACH, ())
    step = ResampledTotals(
        name=f"replicates of {named(plan)}",
        space=question.space,
        price=price,
        failure=question.budget.delta * half,  # type: ignore[operator]
        statement=None if question.budget.rho is not None else question.budget.epsilon * half,  # type: ignore[operator]
        **_rows_of(plan),
    )
    more: dict[str, Any] = {} if plan.weight is None else {"heaviest": plan.weight.largest}
    if plan.classes is not None:
        more["classes"] = [
            [name for name, places in plan.classes.groups.items() if k in places] for k in range(len(plan.classes.axis))
        ]
    law = law_of(sums, parts, replicates=price.replicates, reach=_REACH, **more)
    before, stored, estimator = replace(law, more=more), law.to_law(), plan.estimator
    cells = question.space.size

    def then(last: ResampledTotals, released: tuple[Block, ...]) -> ResampledTotals:
        points = influence_of(estimator, sums_of(before, released, cells))
        if last.rows is not None:
            return replace(last, rows=last.rows.at(points, cells))
        shares = np.broadcast_to(points[:-1] / points[-1], (len(points) - 1, cells)).T
        return replace(last, by_cell=tuple(map(tuple, np.rint(_REACH * shares).astype(int).tolist())))

    made = priced(
        question,
        (*(part.measurement for part in parts), step),
        lambda blocks: estimate_tables(stored, blocks, question.space, named(plan), estimator.name),
        law=stored,
        mechanism=step.noise.name,
        strategy=BOOTSTRAP,
        preview=_previewed(sums, law, before, parts, step),
        warnings=(
            *plan.notes,
            note("resampled"),
            *cluster_notes(question.neighbours.max_rows),
            *design_notes(question, is_weighted=plan.weight is not None),
        ),
        evidence=step.evidence,
        refusal=f"These replicates do not fit {question.budget.definition!r} at this budget.",
    )
    return TwoStepPlan(**vars(made), then=then, first=len(parts))


def _rows_of(plan: SumPlan) -> dict[str, Any]:
    """What is resampled: rows, or classes of them, none of which moves anything before something is released."""
    if plan.classes is None:
        return {"rows": influence_rows(plan)}
    counting = replace(plan.question.query, space=with_axis(plan.question.space, plan.classes.axis))
    many = len(plan.classes.axis)
    return {"counting": counting, "contributions": (0,) * many, "by_cell": ((0,) * many,) * plan.question.space.size}


def _previewed(
    plan: SumPlan, law: EstimateLaw, before: EstimateLaw, parts: Sequence[MeasuredPart], step: ResampledTotals
) -> dict[str, Any]:
    """Both errors in a typical cell of evenly spread rows."""
    records = law.size or plan.question.records
    blocks = typical_blocks(parts, records)
    if plan.classes is None:
        square = typical_influence(plan)
    else:
        points = influence_of(plan.estimator, sums_of(before, blocks, 1))[:, 0]
        square = float(np.average((points[:-1] / points[-1]) ** 2, weights=plan.classes.typical))
    z = with_spread(step.price.replicates, float(step.price.sigma_squared) + records * step.price.reach**2 * square)
    block = Block(name=step.name, space=CellSpace(()), values=np.rint(z).astype(np.int64), law=step.law)
    typical = estimated(law.to_law(), (*blocks, block), 1)
    preview = preview_of(plan.question, before, parts, plan.question.space.size)
    both = {} if typical.sampled is None else {"std_error_with_sampling": sqrt(float(typical.sampled[0]))}
    return preview | both | {"replicates": step.price.replicates}
