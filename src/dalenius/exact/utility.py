"""Risk and utility before any release: what a budget buys, from laws alone; nothing here sees data."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp, inf
from typing import Any

import numpy as np

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.law import Additive
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import plain
from dalenius.core.search import smallest
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DaleniusError, ParameterError, Unsupported

ONE_CELL = Sensitivity.of_patterns(((1,),))
_GRID = 1000
_MOST = 200


def expected(law: Additive, confidence: float = 0.95) -> dict[str, float]:
    """Expected loss of one cell and the half-width of its interval, from the law alone."""
    points, mass = law.central()
    scale = float(law.step)
    return {
        "l1": float((np.abs(points) * mass).sum() / mass.sum()) * scale,
        "l2": law.variance,
        "std_error": law.std_error,
        "half_width": law.half_width(confidence) * scale,
    }


def risk_utility(
    epsilons: Sequence[object],
    mechanisms: Sequence[str],
    *,
    delta: object = None,
    sensitivity: Sensitivity = ONE_CELL,
    relation: Relation = Relation.ADD_REMOVE,
) -> list[dict[str, Any]]:
    """One line for each mechanism and epsilon: what a cell costs in accuracy; lines without a member are left out."""
    lines = []
    for name in mechanisms:
        for epsilon in epsilons:
            definition = "pure" if delta is None else "approximate"
            budget = Budget.of(definition, epsilon=epsilon, delta=delta)
            try:
                noise = calibrate(
                    registry.get("mechanisms", name),
                    sensitivity,
                    relation,
                    registry.get("definitions", definition)(),
                    budget,
                )
            except Unsupported:
                continue
            lines.append({"mechanism": name, "epsilon": float(budget.epsilon or 0), **expected(Additive(noise))})
    return lines


def epsilon_for(
    half_width: int,
    confidence: float = 0.95,
    *,
    mechanism: str = "discrete_laplace",
    budget: Budget | None = None,
    sensitivity: Sensitivity = ONE_CELL,
    relation: Relation = Relation.ADD_REMOVE,
) -> dict[str, Any]:
    """The smallest epsilon (or rho, for a zero-concentrated budget), to a thousandth, whose noise stays within
    ±half_width with the given confidence. `budget` says the definition and, where needed, delta.

    >>> epsilon_for(5)["epsilon"]
    '0.539'
    """
    if half_width < 0 or not 0 < confidence < 1:
        raise ParameterError("half_width must not be negative, and confidence must lie between 0 and 1.")
    frame = budget or Budget.of("pure", epsilon=1)
    currency = "rho" if frame.rho is not None else "epsilon"
    definition = registry.get("definitions", frame.definition)()
    family = registry.get("mechanisms", mechanism)

    def reached(steps: int) -> float:
        amount: dict[str, Any] = {currency: Fraction(steps, _GRID)}
        try:
            noise = calibrate(family, sensitivity, relation, definition, replace(frame, **amount))
        except DaleniusError:
            return inf
        return Additive(noise).half_width(confidence)

    low, high = 0, 1
    while reached(high) > half_width:
        low, high = high, 2 * high
        if high > _MOST * _GRID:
            raise Unsupported(f"No {currency} up to {_MOST} brings the noise within ±{half_width}.")
    high = smallest(lambda steps: reached(steps) <= half_width, low, high)
    answer: dict[str, Any] = {
        currency: plain(Fraction(high, _GRID)),
        "half_width": reached(high),
        "confidence": confidence,
        "mechanism": mechanism,
    }
    if currency == "epsilon":
        answer["in_words"] = in_words(high / _GRID, float(frame.delta or 0))
    return answer


def in_words(epsilon: float, delta: float = 0.0) -> str:
    """What an epsilon means for somebody who had even odds about one unit.

    >>> in_words(1.0)
    'Whoever thought it a fifty-fifty matter whether a unit is in the data can, after the release, be at most 73.1 %
    sure.'
    """
    sure = 100 / (1 + exp(-epsilon))
    sentence = (
        "Whoever thought it a fifty-fifty matter whether a unit is in the data can, after the release, be at most"
        f" {sure:.1f} % sure"
    )
    return sentence + (f", except with a probability of about {delta:.2g}." if delta else ".")
