"""Counts through noise that is a step of its own: perturbation tables p(a, b), named as the mechanism of a request."""

import numpy as np

from dalenius.core import registry
from dalenius.core.contracts import Measurement, TableNoise
from dalenius.core.law import Kernel
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.release import Block, Table
from dalenius.errors import InternalError, Unsupported
from dalenius.plans.count_route import CountRoute
from dalenius.plans.priced import block_table, priced
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.notes import note
from dalenius.spec.question import Question

BIASED = note("biased_table")
CLAMPED = note("clamped_table")


def _is_asked(question: Question) -> bool:
    """Whether the request names a step in the place of additive noise."""
    named = question.mechanism
    is_step = named is not None and named in registry.names("measurements")
    return is_step and isinstance(registry.get("measurements", str(named)), TableNoise)


def _plan(question: Question) -> TablePlan:
    """One table through the step, shown as it is."""
    named, stated = str(question.mechanism), question.noise
    is_plain = question.weight is None and question.margins is None and question.strategy is None
    if not is_plain or question.scope is not Scope.ALL_DATA:
        # A table of sums has no law of its own.
        raise Unsupported(
            f"The mechanism {named!r} is for one plain table of counts: no margins, strategy or weight.", received=named
        )
    if question.policy.table.maximum_entropy or question.policy.table.truncation is not None:
        raise Unsupported(f"The policy's table rules ask for noise of their own; the request names {named!r}.")
    kind = registry.get("measurements", named)
    if stated is None:
        keys = ", ".join(kind.Parameters.model_fields)
        raise Unsupported(f"The mechanism {named!r} is described in [privacy.noise]: {keys}.", received=named)
    step: Measurement = kind.of_counts(
        question.space.name, question.query, stated, question.budget, question.neighbours
    )
    law = step.law
    if not isinstance(law, Kernel):
        raise InternalError("Noise that is a step of its own publishes a perturbation table.")
    error = {} if law.is_clamped else {"std_error": law.std_error, "half_width_95": law.half_width(0.95)}
    return priced(
        question,
        (step,),
        lambda blocks: tuple(map(_table, blocks)),
        mechanism=named,
        strategy="table",
        preview={"cells": question.space.size, "structural_zeros": len(question.space.structural_zeros), **error},
        warnings=(CLAMPED,) if law.is_clamped else () if law.is_unbiased else (BIASED,),
        refusal=f"{named} does not fit {question.budget.definition!r} at this budget.",
    )


def _table(block: Block) -> Table:
    assert isinstance(block.law, Kernel)
    values, variance = block.values.astype(np.float64), np.full(len(block.values), block.law.variance)
    return block_table(block, values, variance, DEFAULT_MEASURE, is_unbiased=block.law.is_unbiased)


NAMED_STEP = CountRoute(
    place=10, is_asked=_is_asked, plan=_plan, scopes=(Scope.ALL_DATA, Scope.GIVEN_THE_PUBLIC), examples=()
)
