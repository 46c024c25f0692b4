"""Ratios and proportions of released cells, by Fieller's argument: docs/reference/inference/contrasts.md."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, sqrt

import numpy as np
from scipy.special import ndtri

from dalenius.core.estimate import Estimate, Interval
from dalenius.core.law import FloatArray
from dalenius.core.search import narrow
from dalenius.errors import ParameterError
from dalenius.inference.contrast import (
    Where,
    assumptions,
    check_kind,
    describe,
    noise_covariance,
    noise_of,
    observed_for,
    selection,
    standard_errors,
)
from dalenius.inference.interval import checked, checked_kind
from dalenius.inference.noise import Noise
from dalenius.inference.observation import Observed
from dalenius.inference.observe import Seen, Source
from dalenius.inference.parameters import ALL, Confidence, First, KindName, Second
from dalenius.inference.tree_observed import TreeObserved

MOST_PAIRS = 4_000_000
"""Values of two noises up to which ratios are judged by their exact laws."""


def ratio(
    source: Source, numerator: Where, denominator: Where, *, kind: str = "population", confidence: float = 0.95
) -> Estimate:
    """Count of one selection over count of another; ends may be infinite where the denominator may be zero."""
    observation = observed_for(source, {**numerator, **denominator})
    above, below = selection(observation, numerator), selection(observation, denominator)
    name = f"ratio of {describe(numerator)} to {describe(denominator)}"
    return _ratio(observation, above, below, name, kind, confidence)


def proportion(
    source: Source,
    part: First = ALL,
    whole: Second = ALL,
    *,
    kind: KindName = "population",
    confidence: Confidence = 0.95,
) -> Estimate:
    """Share of the first cells in the second, or in the whole table."""
    observation = observed_for(source, {**part, **whole})
    inner, outer = selection(observation, part), selection(observation, whole)
    if np.any(inner > outer):
        raise ParameterError("A proportion needs a part that lies inside the whole; use ratio for other quotients.")
    odds = _ratio(observation, inner, outer - inner, "odds", kind, confidence)
    assert odds.interval is not None
    x = observation.guess.reshape(-1)
    whole_value = float(outer @ x)
    value = float(inner @ x) / whole_value if whole_value > 0 else float("nan")
    value = min(max(value, 0.0), 1.0)
    low, high = (1.0 if end == inf else end / (1 + end) for end in (odds.interval.lower, odds.interval.upper))
    return Estimate(
        name=f"share of {describe(part)}" + (f" in {describe(whole)}" if whole else ""),
        value=value,
        std_error=odds.std_error / (1 + max(odds.value, 0.0)) ** 2 if odds.value == odds.value else float("nan"),
        interval=replace(odds.interval, lower=low, upper=high),
        assumptions=odds.assumptions,
    )


def _ratio(
    observation: Seen | TreeObserved, above: FloatArray, below: FloatArray, name: str, kind: str, confidence: float
) -> Estimate:
    checked(confidence)
    check_kind(kind, observation)
    if not below.any() or not above.any():
        raise ParameterError("Both parts of a ratio need at least one cell.")
    x = observation.guess.reshape(-1)
    covariance = noise_covariance(observation, np.stack([above, below]))
    if kind == "parameter":
        mean = np.maximum(x, 0.0)
        both = np.stack([above, below])
        covariance = covariance + observation.rows * (both * mean) @ both.T
    up, down = float(above @ x), float(below @ x)
    value = up / down if down > 0 else float("nan")
    laws = None
    if kind == "population" and isinstance(observation, Observed) and not np.any(above * below):
        first, second = noise_of(observation, above), noise_of(observation, below)
        if first is not None and second is not None and len(first.pmf) * len(second.pmf) <= MOST_PAIRS:
            laws = (first, second)
    reach = standard_errors(observation, kind, confidence)
    low, high = fieller(up, down, covariance, laws, reach, confidence)
    is_normal = reach <= ndtri((1 + confidence) / 2)
    how = "normal with exact covariance" if is_normal else "exact covariance, quantiles of Laplace noise"
    how = f"Fieller set{' with the exact law of the noise' if laws else f', {how}'}"
    slope = np.array([1.0, -value]) / down if down > 0 else np.array([np.nan, np.nan])
    return Estimate(
        name=name,
        value=value,
        std_error=sqrt(max(float(slope @ covariance @ slope), 0.0)) if down > 0 else float("nan"),
        interval=Interval(lower=low, upper=high, confidence=confidence, kind=checked_kind(kind), method=how),
        assumptions=assumptions(observation, kind),
    )


def fieller(
    up: float, down: float, covariance: FloatArray, laws: tuple[Noise, Noise] | None, reach: float, confidence: float
) -> tuple[float, float]:
    """Smallest and largest r >= 0 for which up - r down is within the quantile or standard errors of its noise."""

    def accepts(angle: float) -> bool:
        # r = tan(angle): the same question in a form that also reaches r = infinity.
        c, s = np.cos(angle), np.sin(angle)
        gap = abs(c * up - s * down)
        if laws is None:
            across = np.array([c, -s])
            return bool(gap <= reach * sqrt(max(float(across @ covariance @ across), 0.0)))
        first, second = laws
        noise = np.abs(c * first.points[:, None] - s * second.points[None, :])
        outside = float(first.pmf @ (noise >= gap - 1e-9) @ second.pmf)
        return outside > 1 - confidence

    best = np.arctan2(max(up, 0.0), max(down, 0.0)) if max(up, down) > 0 else np.pi / 4
    low, high = accepted_angles(accepts, float(best), 0.0)
    return float(np.tan(low)), inf if high >= np.pi / 2 - 1e-9 else float(np.tan(high))


def accepted_angles(accepts: Callable[[float], bool], best: float, least: float) -> tuple[float, float]:
    """The least and the largest accepted angle between `least` and a right one; `best` where none is accepted."""
    grid = np.unique(np.concatenate([np.linspace(least, np.pi / 2, 41), [best]]))
    held = np.array([accepts(a) for a in grid])
    if not held.any():
        return best, best
    first, last = int(np.argmax(held)), len(held) - 1 - int(np.argmax(held[::-1]))
    low = least if first == 0 else _edge(accepts, grid[first - 1], grid[first])
    high = np.pi / 2 if last == len(grid) - 1 else _edge(accepts, grid[last + 1], grid[last])
    return float(low), float(high)


def _edge(accepts: Callable[[float], bool], outside: float, inside: float) -> float:
    return narrow(accepts, inside, outside, halvings=30).outside
