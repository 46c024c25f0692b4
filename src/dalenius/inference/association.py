"""Odds ratio, phi, Cramer's V and lambda of noisy two-way tables: docs/reference/inference/association.md."""

from collections.abc import Callable
from math import sqrt

import numpy as np

from dalenius.core.estimate import Estimate, Interval, Kind
from dalenius.core.law import FloatArray
from dalenius.errors import ParameterError
from dalenius.inference import formula, simulation
from dalenius.inference.fitting import fit_one, statistics
from dalenius.inference.independence import sampling_note
from dalenius.inference.interval import checked
from dalenius.inference.joint import JointObserved
from dalenius.inference.loglinear import exponentiated
from dalenius.inference.observe import Seen, Source, observe
from dalenius.inference.parameters import AxisName, Confidence, Replicates, Seed
from dalenius.inference.profile import coefficient_interval, covariance


def odds_ratio(
    source: Source,
    *axes: AxisName,
    row_labels: tuple[str, str] | None = None,
    column_labels: tuple[str, str] | None = None,
    confidence: Confidence = 0.95,
) -> Estimate:
    """Odds ratio of the first two rows and columns, with a profile-likelihood interval.

    (mu11 mu22) / (mu12 mu21), of other labels where they are named.
    """
    observation = _two_way(source, axes)
    pairs = [
        _pair(axis.labels, chosen) for axis, chosen in zip(observation.axes, (row_labels, column_labels), strict=True)
    ]
    saturated = formula.saturated(observation.names)
    matrix, _ = formula.design(saturated, observation.axes)
    fit = fit_one(observation, saturated)
    cells = np.arange(matrix.shape[0]).reshape(observation.shape)
    (i, k), (j, m) = pairs
    contrast = matrix[cells[i, j]] - matrix[cells[i, m]] - matrix[cells[k, j]] + matrix[cells[k, m]]
    value = float(contrast @ fit.coefficients)
    error = sqrt(max(float(contrast @ covariance(fit) @ contrast), 0.0))
    log = Estimate(
        name="log odds ratio",
        value=value,
        std_error=error,
        interval=coefficient_interval(observation, matrix, fit, contrast, confidence=confidence),
        assumptions=(sampling_note(observation), *observation.notes),
    )
    labels = [f"{observation.axes[a].labels[p]}/{observation.axes[a].labels[q]}" for a, (p, q) in enumerate(pairs)]
    return exponentiated(log, f"odds ratio {observation.names[0]} {labels[0]}, {observation.names[1]} {labels[1]}")


def cramers_v(
    source: Source, *axes: AxisName, confidence: Confidence = 0.95, replicates: Replicates = 999, seed: Seed = 0
) -> Estimate:
    """Cramer's V of two axes, corrected for noise and for sampling."""
    return _simulated(source, axes, "Cramer's V", _v, confidence, replicates, seed)


def phi(
    source: Source, *axes: AxisName, confidence: Confidence = 0.95, replicates: Replicates = 999, seed: Seed = 0
) -> Estimate:
    """The square root of the corrected mean square contingency."""

    def root(guess: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
        return np.minimum(np.sqrt(phi_squared(guess, mean, variance)), sqrt(min(mean.shape[1:]) - 1))

    return _simulated(source, axes, "phi", root, confidence, replicates, seed)


def goodman_kruskal_lambda(
    source: Source, *axes: AxisName, confidence: Confidence = 0.95, replicates: Replicates = 999, seed: Seed = 0
) -> Estimate:
    """Share of errors in guessing the column that knowing the row removes; simulated bias subtracted."""
    checked(confidence)
    observation = _two_way(source, axes)
    fitted = _saturated_mean(observation)
    value = float(_lambda(np.maximum(observation.guess[None], 0.0))[0])
    draws = observation.simulate(fitted, replicates, simulation.generator(seed))
    simulated = _lambda(np.maximum(observation.guesses(draws), 0.0))
    bias = float(simulated.mean() - _lambda(fitted[None])[0])
    details = {"uncorrected": value, "bias": bias}
    return _estimate(observation, "lambda", value - bias, simulated, confidence, details)


def phi_squared(guess: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Corrected phi squared of each table (first axis), at least zero; `mean` is the fit under independence."""
    return np.asarray(np.maximum(0.0, centred_phi_squared(guess, mean, variance)))


def centred_phi_squared(guess: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Phi squared minus what noise and sampling add to it; centred at zero under independence."""
    total = np.maximum(mean.sum((1, 2)), 1.0)
    r, c = mean.shape[1:]
    # A floor keeps nearly empty expected cells, which are all noise, from deciding the answer.
    expected = np.maximum(mean, 0.5)
    pearson = ((guess - mean) ** 2 / expected).sum((1, 2))
    p = mean.sum(2) / total[:, None]
    q = mean.sum(1) / total[:, None]
    row, column = 1 - 2 * p + r * p**2, 1 - 2 * q + c * q**2
    inflation = (variance * row[:, :, None] * column[:, None, :] / expected).sum((1, 2))
    return np.asarray((pearson - inflation) / total - (r - 1) * (c - 1) / np.maximum(total - 1, 1.0))


def _v(guess: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    total = np.maximum(mean.sum((1, 2)), 2.0)
    r, c = mean.shape[1:]
    rows, columns = r - (r - 1) ** 2 / (total - 1), c - (c - 1) ** 2 / (total - 1)
    ceiling = np.maximum(np.minimum(rows - 1, columns - 1), 1e-9)
    return np.asarray(np.minimum(np.sqrt(phi_squared(guess, mean, variance) / ceiling), 1.0))


def _lambda(mean: FloatArray) -> FloatArray:
    total, most = mean.sum((1, 2)), mean.sum(1).max(1)
    return np.asarray((mean.max(2).sum(1) - most) / np.maximum(total - most, 1e-9))


def _simulated(
    source: Source,
    axes: tuple[str, ...],
    name: str,
    measure: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    confidence: float,
    replicates: int,
    seed: int,
) -> Estimate:
    checked(confidence)
    observation = _two_way(source, axes)
    null = formula.independent(observation.names)
    fit = fit_one(observation, null)
    variance = observation.variance(fit.mean)
    value = float(measure(observation.guess[None], fit.mean[None], variance)[0])
    draws = observation.simulate(_saturated_mean(observation), replicates, simulation.generator(seed))
    _, means = statistics(observation, draws, null, None, fit.mean)
    simulated = measure(observation.guesses(draws), means, variance)
    return _estimate(observation, name, value, simulated, confidence, {})


def _estimate(
    observation: Seen, name: str, value: float, simulated: FloatArray, confidence: float, details: dict[str, float]
) -> Estimate:
    ends = np.quantile(simulated, [(1 - confidence) / 2, (1 + confidence) / 2]) - details.get("bias", 0.0)
    (low, high), kind = (float(min(max(e, 0.0), 1.0)) for e in ends), Kind.NOISE_AND_SAMPLING
    how = "percentiles of simulated measurements, approximate"
    return Estimate(
        name=f"{name} of {' and '.join(observation.names)}",
        value=min(max(value, 0.0), 1.0),
        std_error=float(simulated.std()),
        interval=Interval(lower=low, upper=high, confidence=confidence, kind=kind, method=how),
        assumptions=(sampling_note(observation), *observation.notes),
        details=details,
    )


def _saturated_mean(observation: Seen) -> FloatArray:
    return np.maximum(observation.values, 0.0) if isinstance(observation, JointObserved) else observation.saturated[0]


def _two_way(source: Source, axes: tuple[str, ...]) -> Seen:
    if len(axes) not in (0, 2):
        raise ParameterError("Name the two axes of the table, or none for the first two.")
    observation = observe(source, *axes)
    if len(observation.shape) != 2:
        raise ParameterError(
            f"A two-way table is needed; this one has {len(observation.shape)} axes. Name two of them."
        )
    return observation


def _pair(labels: tuple[str, ...], chosen: tuple[str, str] | None) -> tuple[int, int]:
    if chosen is None:
        return 0, 1
    for label in chosen:
        if label not in labels:
            raise ParameterError(f"There is no label {label!r}; declared: {', '.join(labels)}.")
    return labels.index(chosen[0]), labels.index(chosen[1])
