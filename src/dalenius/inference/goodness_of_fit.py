"""Tests that counts follow a given distribution, seen through noise: simulated and measured anew.

Structural zeros have no probability, no expected count and no degree of freedom.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from dalenius.core.estimate import TestResult
from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import ParameterError
from dalenius.inference import simulation
from dalenius.inference.calibration import Calibrated, is_safe, largest_p, null_tables
from dalenius.inference.fitting import statistics
from dalenius.inference.formula import Model
from dalenius.inference.independence import METHODS, result
from dalenius.inference.interval import check_among
from dalenius.inference.joint import JointObserved
from dalenius.inference.observe import Source, observe

_LEVEL_ONLY: frozenset[frozenset[int]] = frozenset([frozenset()])


def goodness_of_fit(
    source: Source,
    probabilities: Sequence[float] | FloatArray | None = None,
    *names: str,
    method: str = "monte-carlo",
    replicates: int = 999,
    seed: int = 0,
    total: int | None = None,
) -> TestResult:
    """Test that the counts follow the given cell probabilities, or equal ones in all possible cells."""
    check_among("method", method, METHODS[:2])
    observation = observe(source, *names, total=total)
    share = _shares(probabilities, observation.possible)
    level = max(float(observation.guess.sum()), 1.0) if observation.total is None else float(observation.total)
    null = Model(_LEVEL_ONLY, observation.names)

    def of(values: FloatArray | IntArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        if isinstance(observation, JointObserved):
            offset = np.log(np.maximum(share, 1e-12))
            fitted = observation.fitted(values, np.ones((share.size, 1)), start, offset)
            return fitted.distance, fitted.mean.reshape(values.shape)
        return statistics(observation, values, null, None, start)

    statistic, means = of(observation.values[None], level * share)
    observed = max(float(statistic[0]), 0.0)
    mean = means[0]
    freedom = int(np.sum(share > 0)) - 1
    asymptotic = float(chdtrc(max(freedom, 1), observed))
    p_value, simulated = asymptotic, np.empty(0)
    if method == "monte-carlo":
        rng = simulation.generator(seed)
        tables = null_tables(observation, simulation.repeated(mean, replicates), mean.sum(), rng)
        p_value, simulated = largest_p(observed, [of(values, start[0])[0] for start, values in tables])
    is_asymptotic_safe = is_safe(observation, mean)
    calibration = Calibrated(observed, p_value, simulated, mean, freedom, asymptotic, is_asymptotic_safe)
    return result(observation, calibration, f"Goodness of fit of {' x '.join(observation.names)}", method)


def _shares(probabilities: Sequence[float] | FloatArray | None, possible: NDArray[np.bool_]) -> FloatArray:
    """Shares that sum to one; cells that cannot hold anything have none."""
    if probabilities is None:
        return np.asarray(possible / max(possible.sum(), 1), dtype=np.float64)
    if isinstance(probabilities, str):
        raise ParameterError(
            f"Probabilities (or None for equal ones) come before the axes; received {probabilities!r}."
        )
    share = np.asarray(probabilities, dtype=np.float64)
    if share.size != possible.size:
        raise ParameterError(f"The table has {possible.size} cells; received {share.size} probabilities.")
    if not np.all(np.isfinite(share)) or share.min() < 0 or share.sum() <= 0:
        raise ParameterError("Probabilities must be finite and not negative, and not all zero.")
    share = share.reshape(possible.shape)
    if share[~possible].any():
        cell = [int(k) + 1 for k in np.argwhere((share > 0) & ~possible)[0]]
        raise ParameterError(f"The cell {cell} is a structural zero; its probability must be 0.", cell=cell)
    return np.asarray(share / share.sum())
