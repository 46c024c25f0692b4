"""Tests of independence that know the noise: docs/reference/inference/tests.md."""

from typing import Any

import numpy as np
from scipy.special import chdtrc

from dalenius.core.estimate import TestResult
from dalenius.errors import ParameterError
from dalenius.inference import formula
from dalenius.inference.calibration import Calibrated, calibrate, is_safe, largest_p, null_statistics
from dalenius.inference.drawn import condition
from dalenius.inference.fitting import degrees_of_freedom, fit_one
from dalenius.inference.formula import Model
from dalenius.inference.interval import check_among
from dalenius.inference.joint import JointObserved
from dalenius.inference.observe import Seen, Source, observe
from dalenius.inference.parameters import AxisName, Replicates, Seed, Test

METHODS = ("monte-carlo", "asymptotic", "chi-square")


def independence(
    source: Source,
    *axes: AxisName,
    method: Test = "monte-carlo",
    replicates: Replicates = 999,
    seed: Seed = 0,
    total: int | None = None,
) -> TestResult:
    """Test that the axes of a table are independent.

    `method` is "monte-carlo" (likelihood ratio, simulated), "asymptotic" (likelihood ratio against chi-square, refused
    where that is not safe) or "chi-square" (Pearson's statistic with the noise in its denominators, simulated).
    """
    observation = observe(source, *axes, total=total, takes_weights=True)
    if len(observation.shape) < 2:
        raise ParameterError("A test of independence needs a table with at least two axes.")
    check_among("method", method, METHODS)
    null = formula.independent(observation.names)
    title = f"Independence of {' and '.join(observation.names)}"
    if method == "chi-square":
        return corrected_chi_square(observation, null, title, replicates=replicates, seed=seed)
    return nested_test(observation, null, None, title, method=method, replicates=replicates, seed=seed)


def nested_test(
    observation: Seen,
    null: Model,
    alternative: Model | None,
    title: str,
    *,
    method: str = "monte-carlo",
    replicates: int = 999,
    seed: int = 0,
) -> TestResult:
    """Likelihood ratio between two nested log-linear models, as a result that prints itself."""
    check_among("method", method, METHODS[:2])
    many = replicates if method == "monte-carlo" else 0
    calibration = calibrate(observation, null, alternative, replicates=many, seed=seed)
    return result(observation, calibration, title, method)


def result(observation: Seen, level: Calibrated, title: str, method: str) -> TestResult:
    """A calibrated statistic as a test result; the chi-square law is refused where it is not safe."""
    if method == "asymptotic" and not level.is_asymptotic_safe:
        raise ParameterError(
            "The chi-square law is not safe here: the noise variance must be below 0.05 times the smallest fitted "
            "mean, and that mean at least 5. Use method='monte-carlo'."
        )
    kind = "quadratic distance" if isinstance(observation, JointObserved) else "noise-aware likelihood ratio"
    how = f"{kind}, {len(level.simulated)} simulated measurements" if method == "monte-carlo" else f"{kind}, chi-square"
    details: dict[str, Any] = {"fitted": level.mean, "simulated": level.simulated}
    if level.is_asymptotic_safe:
        details["asymptotic_p_value"] = level.asymptotic_p_value
    return TestResult(
        name=title,
        statistic=level.statistic,
        p_value=level.p_value if method == "monte-carlo" else level.asymptotic_p_value,
        method=how,
        degrees_of_freedom=level.degrees_of_freedom,
        assumptions=(sampling_note(observation), *observation.notes),
        details=details,
    )


def sampling_note(observation: Seen) -> str:
    """What is assumed of the counts, and of how their records were drawn."""
    if isinstance(observation, JointObserved) and observation.is_weighted:
        model = "Assumes weights that were fixed before records were drawn, and the published law of the noise."
    elif observation.total is None:
        model = "Assumes Poisson counts and the published law of the noise."
    else:
        model = (
            f"Assumes multinomial counts with the public total {observation.total:,} and the published law of "
            "the noise."
        )
    return f"{model} {condition(observation)}"


def corrected_chi_square(
    observation: Seen, null: Model, title: str, *, replicates: int = 999, seed: int = 0
) -> TestResult:
    """Sum of (x - mu)^2 / (mu + v) at the noise-aware fit; simulated unless `replicates` is 0.

    With `replicates` = 0 the chi-square law is used, which needs mu + v large.
    """
    fit = fit_one(observation, null)
    variance = observation.variance(fit.mean)
    freedom = degrees_of_freedom(null, None, observation, fit.mean)

    def distance(guess: Any, mean: Any) -> Any:
        axes = tuple(range(-len(observation.shape), 0))
        return ((guess - mean) ** 2 / np.maximum(mean + variance, 1e-12) * observation.possible).sum(axes)

    observed = float(distance(observation.guess, fit.mean))
    asymptotic = float(chdtrc(max(freedom, 1), observed))
    details: dict[str, Any] = {"fitted": fit.mean}
    if is_safe(observation, fit.mean) or not replicates:
        details["asymptotic_p_value"] = asymptotic
    p_value, how = asymptotic, "corrected chi-square against chi-square; needs mean plus noise variance large"
    if replicates:
        alternatives = null_statistics(observation, null, fit.mean, distance, replicates=replicates, seed=seed)
        p_value, details["simulated"] = largest_p(observed, alternatives)
        how = f"corrected chi-square, {replicates} simulated measurements"
    return TestResult(
        name=title,
        statistic=observed,
        p_value=p_value,
        method=how,
        degrees_of_freedom=freedom,
        assumptions=(sampling_note(observation), *observation.notes),
        details=details,
    )
