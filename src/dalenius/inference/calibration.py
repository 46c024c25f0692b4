"""p-values by simulating the whole measurement under the null model: docs/reference/inference/tests.md."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import ParameterError
from dalenius.inference import simulation
from dalenius.inference.fitting import degrees_of_freedom, fit_one, saturated_log_likelihood, statistics
from dalenius.inference.formula import Model
from dalenius.inference.joint import JointObserved
from dalenius.inference.observation import Observed

# So many replicates are simulated from each refitted null mean.
REPLICATES_A_NULL = 3
# The larger of the two totals that are tried is so many standard errors above the fitted one.
ABOVE = 1.0
SAFE_SHARE = 0.05
SAFE_MEAN = 5.0
MOST_REPLICATES = 100_000


@dataclass(frozen=True, eq=False)
class Calibrated:
    statistic: float
    p_value: float
    simulated: FloatArray
    mean: FloatArray
    degrees_of_freedom: int
    asymptotic_p_value: float
    is_asymptotic_safe: bool


def monte_carlo_p(statistic: float, simulated: FloatArray) -> float:
    """(1 + number at least as large) / (1 + number simulated), ties included."""
    beyond = int(np.sum(simulated >= statistic - 1e-6 * (1 + abs(statistic))))
    return (1 + beyond) / (1 + len(simulated))


def largest_p(statistic: float, alternatives: Sequence[FloatArray]) -> tuple[float, FloatArray]:
    """The largest p-value over several simulated null distributions, and the distribution that gives it."""
    return max(((monte_carlo_p(statistic, simulated), simulated) for simulated in alternatives), key=itemgetter(0))


def shrunken(mean: FloatArray, variance: FloatArray, model: Model) -> FloatArray:
    """Null means with their margins drawn towards equality (tables on the first axis)."""
    axes = tuple(range(1, mean.ndim))
    total = mean.sum(axes, keepdims=True)
    generators = [g for g in model.generators if g]
    if not generators:
        return mean
    disjoint = sum(len(g) for g in generators) == len({a for g in generators for a in g})
    if disjoint and np.all(mean.reshape(len(mean), -1).min(1) > 0) and len(set().union(*generators)) == mean.ndim - 1:
        product = total
        for g in generators:
            margin, factor = _factor(mean, variance, g)
            even = total / np.prod([mean.shape[a + 1] for a in g])
            product = product * ((even + factor * (margin - even)) / total)
        return np.asarray(product)
    factor = np.min([_factor(mean, variance, g)[1] for g in generators], axis=0)
    possible = mean > 0
    even = total * possible / possible.sum(axes, keepdims=True)
    return _proportional(factor * mean + (1 - factor) * even, generators, possible)


def _factor(mean: FloatArray, variance: FloatArray, generator: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """A margin and how much of its deviation from equality to keep."""
    axes = tuple(range(1, mean.ndim))
    over = tuple(a for a in axes if a - 1 not in generator)
    margin = mean.sum(over, keepdims=True)
    noise = np.broadcast_to(variance, mean.shape).sum(over, keepdims=True)
    count = np.prod([mean.shape[a + 1] for a in generator])
    even = mean.sum(axes, keepdims=True) / count
    spread = ((margin - even) ** 2).sum(axes, keepdims=True)
    expected = (noise + even).sum(axes, keepdims=True) * (count - 1) / count
    return margin, np.maximum(0.0, 1 - expected / np.maximum(spread, 1e-12))


def _proportional(target: FloatArray, generators: list[tuple[int, ...]], possible: NDArray[np.bool_]) -> FloatArray:
    """The member of the model that has the margins of the target."""
    axes = tuple(range(1, target.ndim))
    mean = possible.astype(np.float64)
    for _ in range(50):
        before = mean
        for g in generators:
            over = tuple(a for a in axes if a - 1 not in g)
            ratio = target.sum(over, keepdims=True) / np.maximum(mean.sum(over, keepdims=True), 1e-300)
            mean = mean * ratio
        if np.max(np.abs(mean - before)) < 1e-6:
            break
    return mean


def null_means(
    table: Observed | JointObserved, fitted: FloatArray, null: Model, replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Null means to simulate from, one for each replicate: as uncertain about the truth as the fitted ones."""
    first = shrunken(fitted[None], table.variance(fitted), null)[0]
    values = table.simulate(first, -(-replicates // REPLICATES_A_NULL), rng)
    _, refitted = statistics(table, values, null, None, first)
    means = shrunken(refitted, table.variance(first), null)
    return np.repeat(means, REPLICATES_A_NULL, axis=0)[:replicates]


def null_tables(
    table: Observed | JointObserved, means: FloatArray, total: FloatArray, rng: np.random.Generator
) -> list[tuple[FloatArray, FloatArray | IntArray]]:
    """Null means and a simulated measurement for each: as they are, and with a total a standard error above.

    `total` is the fitted one, or one for each table of means. Where the total is public there is nothing to be
    uncertain about.
    """
    counts: Any = table.counts(means, rng)
    if table.total is not None:
        return [(means, table.send(counts, rng))]
    error = np.sqrt(total + table.variance_of_total(means[0]))
    more = means * (ABOVE * error / np.maximum(total, 1e-6))
    larger = counts + table.counts(more, rng)
    # Both are sent through the same noise, so that the larger p-value is larger by its null means and not by chance.
    seed = int(rng.integers(2**62))
    return [
        (means, table.send(counts, simulation.generator(seed))),
        (means + more, table.send(larger, simulation.generator(seed))),
    ]


def null_statistics(
    observation: Observed | JointObserved,
    null: Model,
    fitted: FloatArray,
    statistic: Callable[[FloatArray, FloatArray], FloatArray],
    *,
    replicates: int,
    seed: int,
) -> list[FloatArray]:
    """A statistic of the unbiased values and the fitted null means of simulated tables, for each of the two totals."""
    rng = simulation.generator(seed)
    means = null_means(observation, fitted, null, replicates, rng)
    return [
        statistic(observation.guesses(values), statistics(observation, values, null, None, start)[1])
        for start, values in null_tables(observation, means, fitted.sum(), rng)
    ]


def calibrate(
    observation: Observed | JointObserved,
    null: Model,
    alternative: Model | None = None,
    *,
    replicates: int = 999,
    seed: int = 0,
) -> Calibrated:
    """The statistic between two nested models, and its p-value from `replicates` simulated measurements (0: none)."""
    if not 0 <= replicates <= MOST_REPLICATES:
        raise ParameterError(f"replicates must lie between 0 and {MOST_REPLICATES:,}; received {replicates}.")
    below = fit_one(observation, null)
    above = None if alternative is None else fit_one(observation, alternative, start=below.mean)
    if isinstance(observation, JointObserved):
        # One quadratic form for data and simulations alike.
        observed = float(statistics(observation, observation.values[None], null, alternative, below.mean)[0][0])
    else:
        top = saturated_log_likelihood(observation) if above is None else above.log_likelihood
        observed = max(2 * (top - below.log_likelihood), 0.0)
    freedom = degrees_of_freedom(null, alternative, observation, below.mean)
    asymptotic = float(chdtrc(freedom, observed)) if freedom > 0 else 1.0
    p_value, simulated = asymptotic, np.empty(0)
    if replicates:
        rng = simulation.generator(seed)
        means = null_means(observation, below.mean, null, replicates, rng)
        alternatives = [
            statistics(observation, values, null, alternative, start)[0]
            for start, values in null_tables(observation, means, below.mean.sum(), rng)
        ]
        p_value, simulated = largest_p(observed, alternatives)
    is_asymptotic_safe = is_safe(observation, below.mean)
    return Calibrated(observed, p_value, simulated, below.mean, freedom, asymptotic, is_asymptotic_safe)


def is_safe(observation: Observed | JointObserved, mean: FloatArray) -> bool:
    """Whether every fitted mean is large enough, by itself and against the noise, for the chi-square law."""
    inside = observation.possible
    smallest = mean[inside].min(initial=np.inf)
    return bool(smallest >= SAFE_MEAN and np.all(observation.variance(mean)[inside] < SAFE_SHARE * smallest))
