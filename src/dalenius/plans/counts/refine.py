"""Counts of a long list of categories, fine only where the released coarse counts are large: a plan of two steps.

Which groups are refined is a function of released numbers; both steps are reserved with every group refined.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from dalenius.core.domain import Axis, CellSpace, Variable
from dalenius.core.plan import TablePlan, Then
from dalenius.core.query import TableQuery
from dalenius.core.rationals import rational
from dalenius.core.release import Block
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.count_route import CountRoute
from dalenius.plans.priced import priced, share, shown_as
from dalenius.spec.document import DEFAULT_MEASURE, Name, Whole, usual
from dalenius.spec.keys import LearnKey
from dalenius.spec.method import example
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.count import Count

DEFAULT_SHARE = Fraction(1, 4)


class RefineKeys(LearnKey):
    refine: dict[Name, Annotated[Whole, Field(ge=1)]] | None = usual(
        None,
        "The level that is counted first, and the released count from which on one of its groups is shown in detail.",
        min_length=1,
        max_length=1,
    )


def _plan(question: Question) -> TablePlan:
    """Price both steps with every group refined."""
    ((level, least),) = question.parameter("refine").items()
    part = rational(question.parameter("learn", DEFAULT_SHARE), "learn")
    if not 0 < part < 1:
        raise ParameterError("learn is a share between 0 and 1.", name="learn")
    coarse, fine = _steps(question, level, part)
    names = dict.fromkeys((coarse.mechanism.name, fine.mechanism.name))
    return priced(
        question,
        (coarse, fine),
        shown_as(DEFAULT_MEASURE),
        mechanism=", ".join(names),
        strategy="coarse_then_fine",
        preview={
            "cells": coarse.space.size + fine.space.size,
            "std_error": max(coarse.law.std_error, fine.law.std_error),
            "half_width_95": max(coarse.law.half_width(0.95), fine.law.half_width(0.95)),
            "coarse_half_width_95": coarse.law.half_width(0.95),
            "level": str(level),
            "threshold": int(least),
        },
        warnings=(note("refined", least=int(least)),),
        refusal=f"The two steps do not fit {question.budget.definition!r} at this budget.",
        then=_refined(question.query, question.domain.variable(coarse.space.axes[0].variable), level, int(least)),
    )


def _steps(question: Question, level: str, part: Fraction) -> tuple[Noisy, Noisy]:
    """Counts of all groups, and of all categories. A row is in one group and one category: both tables move alike."""
    space = question.space
    if len(space.axes) != 1 or space.axes[0].cuts or space.axes[0].level or space.structural_zeros:
        raise Unsupported("refine is for one list of categories: one axis, named by its variable.")
    variable = question.domain.variable(space.axes[0].variable)
    if space.axes[0].labels != variable.categories.labels:
        raise Unsupported("refine shows all categories of a variable; leave 'categories' and 'groups' out.")
    hierarchy, counts = variable.hierarchy(level), Count(question.query)
    groups = Axis(variable=variable.name, labels=hierarchy.groups, codes=hierarchy.parent, level=level)
    moved = counts.sensitivity(question.neighbours)
    coarse, fine = (question.choose(moved, share(question.budget, each)) for each in (part, 1 - part))
    grouped = Count(replace(question.query, space=CellSpace((groups,))))
    return Noisy("coarse", grouped, coarse), Noisy("fine", counts, fine)


def _refined(query: TableQuery, variable: Variable, level: str, least: int) -> Then:
    """The fine counts inside the groups whose released count is at least `least`, if there are any."""
    parent, labels = variable.hierarchy(level).parent, variable.categories.labels

    def then(fine: Noisy, released: tuple[Block, ...]) -> Noisy | None:
        counts = released[0].values.tolist()
        kept = [c for c in range(len(labels)) if counts[parent[c]] >= least]
        places = {category: place for place, category in enumerate(kept)}
        codes = tuple(places.get(c, -1) for c in range(len(labels)))
        axis = Axis(variable=variable.name, labels=tuple(labels[c] for c in kept), codes=codes)
        return replace(fine, statistic=Count(replace(query, space=CellSpace((axis,))))) if kept else None

    return then


def _without_usual_share(keys: Mapping[str, Any]) -> dict[str, Any]:
    is_usual = "refine" in keys and rational(keys.get("learn", 0)) == DEFAULT_SHARE
    return {key: value for key, value in keys.items() if not (is_usual and key == "learn")}


REFINE = CountRoute(
    place=60,
    is_asked=lambda question: question.parameter("refine") is not None,
    plan=_plan,
    keys=RefineKeys,
    canonical_keys=_without_usual_share,
    examples=(example(rows=["region"], refine={"half": 5}, epsilon=2),),
)
