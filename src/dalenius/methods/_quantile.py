"""Plans of one quantile: between certified ends, or without an error by a named method."""

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import Any, Literal

from dalenius.core.budget import Budget
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import ValuesQuery
from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError, UnknownName
from dalenius.exact.quantile_selection import Score
from dalenius.measurements.exponential_quantile import ExponentialQuantile
from dalenius.measurements.learned_bounds import cell_queries
from dalenius.measurements.quantile_table import QuantileTable
from dalenius.measurements.unbounded_quantile import GROWTH, UnboundedQuantile
from dalenius.methods._order_statistic import METHODS, plan_local, plan_number, plan_smooth
from dalenius.plans.moments import SAMPLING
from dalenius.plans.priced import priced, selected
from dalenius.plans.quantiles import plan_quantiles
from dalenius.spec.document import Exact, Part, Whole
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.quantile import Quantile

UNBOUNDED = "unbounded"
QUANTILE_METHODS = (*METHODS, UNBOUNDED)


class MedianParameters(Part):
    """Keys of a median, which a quantile has too."""

    method: str | None = None
    beta: Exact | None = None
    shape: Exact | None = None
    growth: Exact | None = None
    score: Literal["distance", "depth"] | None = None
    error: Literal["noise", "sampling"] | None = None
    group_size: Whole = 1


def plan_quantile(question: Question, name: str, level: Fraction) -> TablePlan:
    """Plan the route that the request takes."""
    if question.scope is not Scope.ALL_DATA:
        statistic = Quantile.of(question.domain, question.of, level, question.where)
        return plan_local(question, name, statistic)
    method = question.parameter("method")
    if method is None:
        return plan_quantiles(question, (level,), _measure(level))
    if method not in QUANTILE_METHODS:
        raise UnknownName.among("method", method, QUANTILE_METHODS)
    if method == UNBOUNDED:
        return plan_number(question, _unbounded(question, name, level), name, UNBOUNDED, UNBOUNDED)
    if method != "exponential":
        statistic = Quantile.of(question.domain, question.of, level, question.where)
        return plan_smooth(question, name, statistic)
    score = Score(question.parameter("score", Score.DEPTH))
    if question.space.axes:
        return _table(question, level, score)
    measurement = ExponentialQuantile(
        name=f"{name} of {question.of}",
        query=ValuesQuery(value=question.of, where=question.where),
        low=question.bounds.low,
        high=question.bounds.high,
        epsilon=_selection_epsilon(question.budget),
        neighbours=question.neighbours,
        q=level,
        step=question.bounds.step,
        score=score,
    )
    return plan_number(question, measurement, name, "exponential", "exponential")


def without_implied(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys without depth where a value is selected alone, and without the error of sampling elsewhere."""
    implied = {"exponential": ("score", Score.DEPTH), None: ("error", SAMPLING)}.get(keys.get("method"))
    return {key: value for key, value in keys.items() if (key, value) != implied}


def _measure(level: Fraction) -> str:
    return "median" if level == Fraction(1, 2) else f"quantile {plain(level)}"


def _unbounded(question: Question, name: str, level: Fraction) -> UnboundedQuantile:
    """From the lower bound up a public list of thresholds."""
    if question.budget.epsilon is None:
        raise ParameterError("Thresholds are priced by epsilon; use pure.", name="epsilon")
    return UnboundedQuantile(
        name=f"{name} of {question.of}",
        query=ValuesQuery(value=question.of, where=question.where),
        low=question.bounds.low,
        high=question.bounds.high,
        epsilon=question.budget.epsilon,
        neighbours=question.neighbours,
        q=level,
        growth=rational(question.parameter("growth", GROWTH), "growth"),
        step=question.bounds.step,
    )


def _table(question: Question, level: Fraction, score: Score) -> TablePlan:
    """One selection a cell with all of the budget, and no error."""
    bounds, what = question.bounds, _measure(level)
    measurement = QuantileTable(
        name=f"{what} of {question.of}",
        space=question.space,
        queries=cell_queries(question.domain, question.of, question.space, question.where),
        low=bounds.low,
        high=bounds.high,
        epsilon=_pure_amount(question.budget),
        neighbours=question.neighbours,
        q=level,
        step=bounds.step,
        score=score,
    )
    return priced(
        question,
        (measurement,),
        selected(what, bounds.step),
        mechanism="exponential_quantile",
        strategy="selection",
        preview={"cells": question.space.size, "law": measurement.law.to_dict(), "step": plain(bounds.step)},
        warnings=(note("selected_median"),),
        refusal=f"Medians are selections of bounded loss; they do not fit {question.budget.definition!r} here.",
    )


def _pure_amount(budget: Budget) -> Fraction:
    """The epsilon of a selection under a budget; rho pays for an epsilon of bounded range with epsilon^2 / 8 = rho."""
    if budget.epsilon is not None:
        return budget.epsilon
    if budget.rho is None:
        raise ParameterError("A median needs epsilon or rho.", name="epsilon")
    # The largest rational of a short denominator whose square does not exceed 8 rho.
    scaled = 8 * budget.rho * 10**12
    return Fraction(isqrt(scaled.numerator // scaled.denominator), 10**6)


def _selection_epsilon(budget: Budget) -> Fraction:
    """epsilon as given; from rho, the largest epsilon with epsilon^2 / 8 <= rho, rounded down on a finer grid."""
    if budget.rho is None:
        if budget.epsilon is None:
            raise ParameterError("A quantile needs epsilon or rho.", name="epsilon")
        return budget.epsilon
    square = 8 * budget.rho
    return Fraction(isqrt((square.numerator << 80) // square.denominator), 1 << 40)
