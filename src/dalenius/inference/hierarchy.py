"""Maximum likelihood for hierarchical log-linear models on one table or on many at once.

A model is a list of generators (sets of axes); its means are products of one factor for each generator's margin.
Each sweep visits the generators and moves all parameters of a margin by one Newton step, which needs sums only: score
sum(E - mu), information sum(mu - V). A sweep that lowers the likelihood of a table is replaced there by an EM sweep
(iterative proportional fitting of the posterior means), which never does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core.law import FloatArray, IntArray
from dalenius.inference.likelihood import Moments

Evaluate = Callable[[FloatArray, IntArray], Moments]
Generators = Sequence[tuple[int, ...]]
_LONGEST_STEP = 2.0
_LEAST_MEAN = 1e-13


@dataclass(frozen=True, eq=False)
class Maximum:
    """Fitted means (tables on the first axis), their log-likelihoods, and whether each table converged."""

    mean: FloatArray
    log_likelihood: FloatArray
    is_converged: FloatArray
    sweeps: int


def maximise(
    evaluate: Evaluate,
    start: FloatArray,
    generators: Generators,
    *,
    tolerance: float = 1e-6,
    sweeps: int = 200,
    total: float | None = None,
) -> Maximum:
    """Fit each table of `start` (first axis: tables); a cell that starts at zero stays a structural zero.

    `evaluate(mean, select)` returns the moments of the selected tables. With `total` the fitted means of each table
    sum to it (multinomial counts with a known total).
    """
    axes = tuple(range(1, start.ndim))
    sums = [tuple(a for a in axes if a - 1 not in g) for g in generators]
    mean = np.where(start > 0, np.maximum(start, 1e-6), 0.0)
    mean = _rescaled(mean, total, axes)
    active = np.arange(len(mean))
    moments = evaluate(mean, active)
    best = moments.log_likelihood.sum(axes)
    done = np.zeros(len(mean), dtype=bool)
    sweep = 0
    for sweep in range(1, sweeps + 1):  # noqa: B007 - the count is part of the result
        old, before = mean[active], best[active]
        new, now = _newton_sweep(evaluate, old, moments, active, sums, total, axes)
        after = now.log_likelihood.sum(axes)
        worse = np.flatnonzero(~(after >= before - 1e-9))
        if len(worse):
            new[worse] = _em_sweep(old[worse], moments.residual[worse], sums, total, axes)
            for part, again in zip(now, evaluate(new[worse], active[worse]), strict=True):
                part[worse] = again
            after = now.log_likelihood.sum(axes)
        mean[active], best[active] = new, after
        finished = (after - before < tolerance) & (
            np.max(np.abs(new - old) / np.sqrt(new + 1), axis=axes) < 30 * np.sqrt(tolerance)
        )
        finished[worse] = after[worse] - before[worse] < tolerance / 100
        done[active[finished]] = True
        rest = ~finished
        active = active[rest]
        if not len(active):
            break
        moments = Moments(*(part[rest] for part in now))
    return Maximum(mean, best, done, sweep)


def _newton_sweep(
    evaluate: Evaluate,
    mean: FloatArray,
    moments: Moments,
    active: IntArray,
    sums: list[tuple[int, ...]],
    total: float | None,
    axes: tuple[int, ...],
) -> tuple[FloatArray, Moments]:
    """One Newton step for each generator in turn."""
    for over in sums:
        score = moments.residual.sum(over, keepdims=True)
        information = moments.information(mean).sum(over, keepdims=True)
        step = score / np.maximum(information, 1e-12)
        mean = mean * np.exp(np.clip(step, -_LONGEST_STEP, _LONGEST_STEP))
        mean = _rescaled(np.where(mean > 0, np.maximum(mean, _LEAST_MEAN), 0.0), total, axes)
        moments = evaluate(mean, active)
    return mean, moments


def _em_sweep(
    mean: FloatArray, residual: FloatArray, sums: list[tuple[int, ...]], total: float | None, axes: tuple[int, ...]
) -> FloatArray:
    """Proportional fitting of the posterior means."""
    filled = mean + residual
    for over in sums:
        ratio = filled.sum(over, keepdims=True) / np.maximum(mean.sum(over, keepdims=True), 1e-300)
        mean = mean * np.maximum(ratio, 1e-8)
    return _rescaled(np.where(mean > 0, np.maximum(mean, _LEAST_MEAN), 0.0), total, axes)


def _rescaled(mean: FloatArray, total: float | None, axes: tuple[int, ...]) -> FloatArray:
    """Tables whose means sum to a known total."""
    if total is None:
        return mean
    return np.asarray(mean * (total / mean.sum(axes, keepdims=True)))
