"""Profile-likelihood intervals for one coefficient of a log-linear model, infinite ends allowed.

The coefficient is held at a trial value (its column becomes an offset) and the others are refitted. Joint laws have no
likelihood; they get the normal interval of their estimating equations.
"""

from collections.abc import Callable
from functools import partial
from math import inf, sqrt

import numpy as np
from scipy.special import chdtri, ndtri

from dalenius.core.estimate import Interval, Kind
from dalenius.core.law import FloatArray
from dalenius.core.search import narrow
from dalenius.inference.fitting import Fit, newton
from dalenius.inference.interval import checked
from dalenius.inference.joint import JointObserved
from dalenius.inference.observation import Observed

FARTHEST = 16.0
"""Log ratios beyond this (a factor of nine million) are called infinite."""


def coefficient_interval(
    observation: Observed | JointObserved,
    matrix: FloatArray,
    fit: Fit,
    contrast: FloatArray,
    *,
    confidence: float = 0.95,
) -> Interval:
    """For contrast' beta: profile likelihood, or the normal interval for a joint law."""
    interval = partial(Interval, confidence=checked(confidence), kind=Kind.NOISE_AND_SAMPLING)
    centre, variance = float(contrast @ fit.coefficients), float(contrast @ covariance(fit) @ contrast)
    if isinstance(observation, JointObserved):
        reach = float(ndtri((1 + confidence) / 2)) * sqrt(max(variance, 0.0))
        return interval(lower=centre - reach, upper=centre + reach, method="normal, quasi-likelihood")
    basis, free = _rotated(matrix, contrast)
    limit = float(chdtri(1, 1 - confidence))

    def excess(direction: float) -> Callable[[float], float]:
        state = {"mean": fit.mean}

        def at(distance: float) -> float:
            value = centre + direction * distance
            held = newton(observation, free, _moved(state["mean"], basis, value, free), offset=basis * value)
            state["mean"] = held.mean
            return 2 * (fit.log_likelihood - held.log_likelihood) - limit

        return at

    error = sqrt(max(variance, 1e-6))
    lower, upper = (
        inf if d * centre > FARTHEST else _end(excess(d), min(2 * error, 3.0), FARTHEST - d * centre)
        for d in (-1.0, 1.0)
    )
    return interval(lower=centre - lower, upper=centre + upper, method="profile likelihood")


def covariance(fit: Fit) -> FloatArray:
    """Inverse information; the generalised inverse where a fitted margin is empty."""
    return np.asarray(np.linalg.pinv((fit.information + fit.information.T) / 2, hermitian=True))


def _rotated(matrix: FloatArray, contrast: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A column for the contrast and columns for everything that leaves it alone."""
    column = matrix @ (contrast / (contrast @ contrast))
    # The last right-singular vectors of the contrast span the coefficients that do not change it.
    _, _, rows = np.linalg.svd(contrast[None, :], full_matrices=True)
    return column, matrix @ rows[1:].T


def _moved(mean: FloatArray, basis: FloatArray, value: float, free: FloatArray) -> FloatArray:
    """A start inside the constrained model: the projection of the present log means."""
    theta = np.log(np.maximum(mean.reshape(-1), 1e-10)) - basis * value
    fitted = free @ np.linalg.lstsq(free, theta, rcond=None)[0]
    return np.asarray(np.exp(np.clip(fitted + basis * value, -25, 25))).reshape(mean.shape)


def _end(excess: Callable[[float], float], step: float, farthest: float) -> float:
    """Distance at which the profile leaves the acceptance region; infinite if it never does."""
    near, far = 0.0, max(step, 1e-3)
    while not excess(far) > 0:
        near, far = far, far * 1.7
        if near > farthest:
            return inf
    return narrow(
        lambda x: not excess(x) > 0, near, far, halvings=40, until=lambda near, far: far - near < 1e-4 * (1 + far)
    ).outside
