"""Risk and utility: losses of a shown table against the exact one, and what the laws alone say before any release.

`compare` needs the exact table: it is for public and synthetic tables, and for the custodian's door, which wraps its
result as `Confidential`. Everything else here reads laws and budgets only, and may be shown to anybody.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp, inf, sqrt
from typing import Any

import numpy as np

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.law import Additive, FloatArray
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DaleniusError, ParameterError, Unsupported

ONE_CELL = Sensitivity.of_patterns(((1,),))
_GRID = 1000
_MOST = 200


def compare(exact: Any, shown: Any) -> dict[str, float]:
    """Losses l1, l2, l3, Hellinger distance, mean absolute difference; association before and after for two-way tables."""
    a, b = np.asarray(exact, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    if a.shape != b.shape:
        raise ParameterError("The two tables must have the same shape.", exact=a.shape, shown=b.shape)
    positive = np.maximum(b, 0)
    roots = np.abs(np.sqrt(a) - np.sqrt(positive))
    found = {
        "l1": float(np.abs(a - b).sum()),
        "l2": float(((a - b) ** 2).sum()),
        "l3": float(roots.sum()),
        "hellinger": float(sqrt((roots**2).sum())),
        "mean_absolute_difference": float(np.abs(a - b).mean()),
    }
    if a.ndim == 2 and min(a.shape) > 1:
        for name, table in (("before", a), ("after", positive)):
            found[f"cramers_v_{name}"], found[f"p_value_{name}"] = association(table)
    return found


def association(table: FloatArray) -> tuple[float, float]:
    """Cramer's V and the p-value of Pearson's chi-square test, as if the table were exact; empty lines are dropped."""
    from scipy.stats import chi2

    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(kept.shape, default=0) < 2:
        return float("nan"), float("nan")
    total = kept.sum()
    expected = np.outer(kept.sum(axis=1), kept.sum(axis=0)) / total
    statistic = float(((kept - expected) ** 2 / expected).sum())
    rows, columns = kept.shape
    p_value = float(chi2.sf(statistic, (rows - 1) * (columns - 1)))
    return sqrt(statistic / (total * (min(rows, columns) - 1))), p_value


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
            lines.append(
                {"mechanism": name, "epsilon": float(budget.epsilon or 0), **expected(Additive(noise))}
            )
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
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) <= half_width else (middle, high)
    from dalenius.core.rationals import plain

    found: dict[str, Any] = {
        currency: plain(Fraction(high, _GRID)),
        "half_width": reached(high),
        "confidence": confidence,
        "mechanism": mechanism,
    }
    if currency == "epsilon":
        found["in_words"] = in_words(high / _GRID, float(frame.delta or 0))
    return found


def in_words(epsilon: float, delta: float = 0.0) -> str:
    """What an epsilon means for somebody who had even odds about one unit.

    >>> in_words(1.0)
    'Whoever thought it a fifty-fifty matter whether a unit is in the data can, after the release, be at most 73.1 % sure.'
    """
    sure = 100 / (1 + exp(-epsilon))
    sentence = (
        "Whoever thought it a fifty-fifty matter whether a unit is in the data can, after the release, be at most"
        f" {sure:.1f} % sure"
    )
    return sentence + (f", except with a probability of about {delta:.2g}." if delta else ".")
