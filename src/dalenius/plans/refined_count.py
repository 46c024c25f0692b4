"""Counts of a long list of categories, fine only where the released coarse counts are large: a plan of two steps.

`refine` names a declared level of the axis, `refine_from` the released count from which a group is shown in detail,
`refine_share` the share of the budget for the coarse step. Both steps are reserved; a group that stays coarse is never
counted in detail, and its part of the second step is not refunded.
"""

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dalenius.core.contracts import Measurement
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.core.release import Outcome
from dalenius.errors import ParameterError, Unsupported
from dalenius.plans.priced import share, shown_as
from dalenius.plans.refinement import RefinementPlan
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.count import Count

DEFAULT_SHARE = Fraction(1, 4)


@dataclass(frozen=True, kw_only=True, repr=False)
class RefinedCountPlan(TablePlan):
    """The coarse table, then the fine one inside the groups whose released count is large."""

    procedure: RefinementPlan

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The second measurement is made of the first answer."""
        return self.procedure.steps()


def plan_refined(question: Question) -> TablePlan:
    """Price both steps with every group refined."""
    level, least = str(question.parameter("refine")), question.parameter("refine_from")
    part = rational(question.parameter("refine_share", DEFAULT_SHARE), "refine_share")
    if least is None:
        raise ParameterError("refine needs refine_from, the released count from which a group is refined.")
    if not 0 < part < 1:
        raise ParameterError("refine_share is a share between 0 and 1.", name="refine_share")
    space = question.space
    if len(space.axes) != 1 or space.axes[0].cuts or space.axes[0].level or space.structural_zeros:
        raise Unsupported("refine is for one list of categories: one axis, named by its variable.")
    variable = question.domain.variable(space.axes[0].variable)
    if space.axes[0].labels != variable.categories.labels:
        raise Unsupported("refine shows all categories of a variable; leave 'categories' and 'groups' out.")
    neighbours = question.neighbours
    fine = question.choose(Count(question.query).sensitivity(neighbours), share(question.budget, 1 - part))
    # A row is in one group, and in one category of it: both tables move alike.
    coarse = question.choose(Count(question.query).sensitivity(neighbours), share(question.budget, part))
    procedure = RefinementPlan(
        variable=variable,
        level=level,
        threshold=int(least),
        coarse_mechanism=coarse,
        fine_mechanism=fine,
        neighbours=neighbours,
        where=question.query,
        definition=question.definition.name,
    )
    steps = procedure.largest
    profiles = [step.profile(neighbours) for step in steps]
    if not question.definition.fits(profiles, question.budget):
        raise Unsupported(f"The two steps do not fit {question.budget.definition!r} at this budget.")
    return RefinedCountPlan(
        measurements=steps,
        assemble=shown_as(DEFAULT_MEASURE),
        law=steps[0].law,
        reservation=question.definition.cost(profiles),
        budget=question.budget,
        mechanism=coarse.name if coarse.name == fine.name else f"{coarse.name}, {fine.name}",
        strategy="coarse_then_fine",
        evidence=steps[1].evidence,
        neighbours=neighbours,
        account=question.definition.account,
        preview=_preview(procedure, steps),
        warnings=(*question.definition.warnings, note("refined", least=int(least))),
        procedure=procedure,
    )


def _preview(procedure: RefinementPlan, steps: tuple[Any, ...]) -> dict[str, Any]:
    coarse, fine = (step.law for step in steps)
    return {
        "cells": sum(step.space.size for step in steps),
        "std_error": max(coarse.std_error, fine.std_error),
        "half_width_95": max(coarse.half_width(0.95), fine.half_width(0.95)),
        "coarse_half_width_95": coarse.half_width(0.95),
        "level": procedure.level,
        "threshold": procedure.threshold,
    }
