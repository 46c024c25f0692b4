"""Sums, differences and rates of released cells: docs/reference/inference/contrasts.md.

A selection of cells is a mapping from axes to labels, such as {"sex": "F", "age": ["20-29", "30-39"]}; axes that are
not named are summed over. "20-29..60-69" is the range from one label to another, in the order of the axis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
from scipy.special import ndtri

from dalenius.algebra import joint
from dalenius.algebra.tree_whole import is_along
from dalenius.core.estimate import Estimate, Interval, Kind
from dalenius.core.law import FloatArray
from dalenius.core.release import Release
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.inference.channel import noise_parts
from dalenius.inference.drawn import condition, refuse_parameters
from dalenius.inference.interval import checked, checked_kind, count_interval, poisson_interval
from dalenius.inference.joint import JointObserved
from dalenius.inference.noise import Noise
from dalenius.inference.observation import Observed, find_table, refuse_censored
from dalenius.inference.observe import Seen, Source, observe
from dalenius.inference.parameters import ALL, Confidence, First, KindName
from dalenius.inference.tree_observed import TreeObserved, is_for_ranges, observe_along

Where = Mapping[str, str | Sequence[str]]


def total(
    source: Source, where: First = ALL, *, kind: KindName = "population", confidence: Confidence = 0.95
) -> Estimate:
    """Sum of the first cells."""
    observation = observed_for(source, where)
    weights = selection(observation, where)
    is_counted = not isinstance(observation, TreeObserved) or observation.is_counted
    name = f"{'count' if is_counted else 'total'} of {describe(where)}"
    return _linear(observation, weights, name, kind, confidence, is_signed=not is_counted)


def law_of(source: Source, where: Where) -> tuple[int, Noise] | None:
    """The released sum of the selected cells, and the exact law of its noise; None where it has none."""
    observation = observed_for(source, where)
    if not isinstance(observation, Observed):
        return None
    weights = selection(observation, where)
    noise = noise_of(observation, weights)
    return None if noise is None else (int(weights @ observation.released.reshape(-1)), noise)


def rate(
    source: Source, where: Where, exposure: float, *, kind: str = "parameter", confidence: float = 0.95
) -> Estimate:
    """Selected count per unit of a known exposure (person-years, inhabitants)."""
    if exposure <= 0:
        raise ParameterError(f"exposure must be positive; received {exposure}.")
    count = total(source, where, kind=kind, confidence=confidence)
    assert count.interval is not None
    lower, upper = count.interval.lower / exposure, count.interval.upper / exposure
    return Estimate(
        name=f"rate of {describe(where)}",
        value=count.value / exposure,
        std_error=count.std_error / exposure,
        interval=replace(count.interval, lower=lower, upper=upper),
        assumptions=(*count.assumptions, f"Exposure {exposure:g} is taken as known."),
    )


def difference(
    source: Source, first: Where, second: Where, *, kind: str = "population", confidence: float = 0.95
) -> Estimate:
    """Count of the first selection minus count of the second; common cells cancel."""
    observation = observed_for(source, {**first, **second})
    weights = selection(observation, first) - selection(observation, second)
    return _linear(
        observation, weights, f"{describe(first)} minus {describe(second)}", kind, confidence, is_signed=True
    )


def signed_total(source: Source, where: Where, *, kind: str, confidence: float) -> Estimate:
    """The sum of the selected cells, between ends that may lie below zero."""
    observation = observed_for(source, where)
    return _linear(observation, selection(observation, where), describe(where), kind, confidence, is_signed=True)


def observed_for(source: Source, where: Where) -> Seen | TreeObserved:
    """What a selection is taken from: the first table, or the smallest that has its axes where the first has not."""
    if not isinstance(source, Release):
        return observe(source, of_process=False)
    if is_along(source) or is_for_ranges(source):
        return observe_along(source, where)
    if set(where) <= {axis.name for axis in source.table.space.axes}:
        return observe(source, of_process=False)
    names = (axis.name for axis in find_table(source, tuple(where)).space.axes)
    return observe(source, *names, of_process=False)


def selection(observation: Seen | TreeObserved, where: Where) -> FloatArray:
    """Indicator of the selected cells, flat."""
    chosen = np.ones(observation.shape, dtype=bool)
    for name, wanted in where.items():
        UnknownName.check("axis", name, observation.names)
        axis = observation.names.index(name)
        own = observation.axes[axis].labels
        labels: set[str] = set()
        for label in [wanted] if isinstance(wanted, str) else wanted:
            labels.update(_from_to(name, label, own))
        keep = np.array([label in labels for label in own])
        shape = [1] * len(observation.shape)
        shape[axis] = len(keep)
        chosen = chosen & keep.reshape(shape)
    return (chosen & observation.possible).reshape(-1).astype(np.float64)


def _from_to(name: str, label: str, own: Sequence[str]) -> Sequence[str]:
    """A label, or all labels from one to another: "first..last"."""
    if label in own:
        return [label]
    first, dots, last = label.partition("..")
    if not dots or first not in own or last not in own:
        raise UnknownName.among(f"label of {name!r}", label, own)
    begin, end = own.index(first), own.index(last)
    if begin > end:
        raise ParameterError(f"A range goes up: {first!r} stands after {last!r} on {name!r}.")
    return own[begin : end + 1]


def describe(where: Where) -> str:
    parts = [f"{k} {v if isinstance(v, str) else '/'.join(v)}" for k, v in where.items()]
    return ", ".join(parts) or "all cells"


def noise_covariance(observation: Seen | TreeObserved, weights: FloatArray) -> FloatArray:
    """Covariance of linear combinations (rows of `weights`) from the noise alone."""
    if isinstance(observation, TreeObserved):
        return observation.spread(weights)
    refuse_censored(observation, "sums, differences and shares of cells")
    if isinstance(observation, JointObserved):
        return np.asarray(weights @ observation.covariance @ weights.T)
    spread = np.asarray(observation.variance(np.maximum(observation.guess, 0.0))).reshape(-1)
    return np.asarray((weights * spread) @ weights.T)


def noise_of(observation: Observed, weights: FloatArray) -> Noise | None:
    """The exact law of the noise of a combination with weights -1, 0, 1; None where there is no such law."""
    if not np.all(np.isin(weights, (-1.0, 0.0, 1.0))):
        return None
    parts = noise_parts(observation.channel, len(weights))
    if parts is None:
        return None
    law = Noise.none()
    for noise, here in parts:
        plus, minus = int(np.sum(weights[here] > 0)), int(np.sum(weights[here] < 0))
        law = law.plus(noise.times(plus)) if plus else law
        law = law.plus(noise.times(minus).reflected()) if minus else law
    return law


def _linear(
    observation: Seen | TreeObserved, weights: FloatArray, name: str, kind: str, confidence: float, *, is_signed: bool
) -> Estimate:
    checked(confidence)
    check_kind(kind, observation)
    x = observation.guess.reshape(-1)
    value = float(weights @ x)
    spread = float(noise_covariance(observation, weights[None])[0, 0])
    noise = noise_of(observation, weights) if isinstance(observation, Observed) else None
    if kind == "parameter":
        spread += observation.rows * float(weights**2 @ np.maximum(x, 0.0))
    if isinstance(observation, Observed) and noise is not None and kind == "population":
        exact = int(weights @ observation.released.reshape(-1))
        interval = count_interval(exact, noise, confidence=confidence, is_signed=is_signed)
    elif isinstance(observation, Observed) and noise is not None and not is_signed and observation.rows == 1:
        interval = poisson_interval(int(weights @ observation.released.reshape(-1)), noise, confidence=confidence)
    else:
        reach = standard_errors(observation, kind, confidence) * sqrt(spread)
        low, high = value - reach, value + reach
        low, high = (low, high) if is_signed else (max(low, 0.0), max(high, 0.0))
        how = "normal, exact covariance"
        interval = Interval(lower=low, upper=high, confidence=confidence, kind=checked_kind(kind), method=how)
    return Estimate(
        name=name, value=value, std_error=sqrt(spread), interval=interval, assumptions=assumptions(observation, kind)
    )


def standard_errors(observation: Seen | TreeObserved, kind: str, confidence: float) -> float:
    """How many hold a combination of cells: normal with sampling, else what the noise of the blocks needs."""
    if kind == "population" and isinstance(observation, TreeObserved | JointObserved):
        return joint.reach(observation.laws, confidence)
    return float(ndtri((1 + confidence) / 2))


def check_kind(kind: str, cells: Seen | TreeObserved) -> None:
    """A kind of interval that the cells have, or a refusal."""
    if checked_kind(kind) is Kind.NOISE_AND_SAMPLING:
        refuse_parameters(cells)
    if kind == "parameter" and isinstance(cells, TreeObserved) and not cells.is_counted:
        raise Unsupported(
            "The error of sampling of totals along a hierarchy was not measured; ask with kind 'population', for the "
            "privacy noise alone.",
            measure=cells.measure,
        )


def assumptions(observation: Seen | TreeObserved, kind: str) -> tuple[str, ...]:
    sampling = (f"Assumes Poisson counts. {condition(observation)}",) if kind == "parameter" else ()
    return (*sampling, *observation.notes)
