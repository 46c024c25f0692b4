"""Fits of hierarchical models to one observed table or to many simulated ones, for every kind of law.

Cell-by-cell laws are fitted by maximum likelihood (docs/reference/inference/loglinear.md), joint laws by the
quasi-likelihood of `joint`. The test statistic between nested models is the likelihood ratio, or the quadratic distance
for joint laws. A Newton step for the margin of a generator needs sums only: score sum(E - mu), information sum(mu - V).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import FloatArray, IntArray
from dalenius.inference import formula
from dalenius.inference.channel import Shifted
from dalenius.inference.formula import Model
from dalenius.inference.joint import JointObserved, QuasiFit
from dalenius.inference.likelihood import Moments
from dalenius.inference.observation import Observed

BoolArray = NDArray[np.bool_]
Evaluate = Callable[[FloatArray, IntArray], Moments]
Generators = Sequence[tuple[int, ...]]

EMPTY = 1e-6
QUICK = 1e-4
_MOST_CELLS = 200_000
_LONGEST_STEP = 2.0
_LEAST_MEAN = 1e-13


@dataclass(frozen=True, eq=False)
class Fit:
    """Means, log-likelihood (minus half the distance for joint laws), and the information of the coefficients."""

    mean: FloatArray
    log_likelihood: float
    coefficients: FloatArray
    information: FloatArray
    is_converged: bool


def flat_start(guess: FloatArray, model: Model, possible: BoolArray) -> FloatArray:
    """Means inside the model from which to start: products of shrunken one-way margins, or a constant."""
    count = max(float(possible.sum()), 1.0)
    total = max(float(guess.sum()), 0.5 * count**0.5)
    mean = np.full(guess.shape, total / count)
    for axis in range(guess.ndim):
        if frozenset([axis]) in model.terms:
            over = tuple(k for k in range(guess.ndim) if k != axis)
            margin = guess.sum(over, keepdims=True)
            share = np.maximum(margin / total, 0.05 / guess.shape[axis])
            mean = mean * share * guess.shape[axis]
    mean = np.where(possible, mean, 0.0)
    return np.asarray(mean * (total / mean.sum()))


def fit_one(observation: Observed | JointObserved, model: Model, *, start: FloatArray | None = None) -> Fit:
    """The fit of one observed table, to full precision; without coefficients where there are too many to hold."""
    if isinstance(observation, JointObserved):
        matrix, _ = formula.design(model, observation.axes)
        fit = observation.fitted(observation.values[None], matrix, start)
        mean = fit.mean[0].reshape(observation.shape)
        return Fit(mean, -0.5 * float(fit.distance[0]), fit.coefficients[0], fit.information[0], True)
    begin = _start(observation, model, start)

    def evaluate(mean: FloatArray, _: object) -> Moments:
        return observation.moments(mean[0]).each(lambda part: part[None])

    swept = maximise(evaluate, begin[None], model.generators, tolerance=1e-8, sweeps=400, total=observation.total)
    is_done = bool(swept.is_converged[0])
    if observation.possible.size * formula.coefficients(model, observation.shape) > formula.MOST_ENTRIES:
        return Fit(swept.mean[0], float(swept.log_likelihood[0]), np.empty(0), np.empty((0, 0)), is_done)
    return newton(observation, formula.design(model, observation.axes)[0], swept.mean[0], is_swept=is_done)


def newton(
    observation: Observed,
    matrix: FloatArray,
    mean: FloatArray,
    *,
    offset: FloatArray | None = None,
    is_swept: bool = False,
) -> Fit:
    """Damped Newton steps on all coefficients together, from a mean inside the model (given the offset)."""
    possible = observation.possible.reshape(-1)
    fixed = np.zeros(possible.size) if offset is None else offset.reshape(-1)
    X = matrix[possible]
    theta = np.log(np.maximum(mean.reshape(-1), 1e-13)) - fixed
    beta: FloatArray = np.asarray(np.linalg.lstsq(X, theta[possible], rcond=None)[0], dtype=np.float64)

    def at(b: FloatArray) -> tuple[FloatArray, Moments, float]:
        full = np.where(possible, np.exp(np.clip(fixed + matrix @ b, -30.0, 40.0)), 0.0)
        if observation.total is not None:
            full *= observation.total / full.sum()
        moments = observation.moments(full.reshape(observation.shape))
        return full, moments, float(moments.log_likelihood.sum())

    now, moments, best = at(beta)
    is_done = is_swept
    for _ in range(50):
        weight = moments.information(now.reshape(observation.shape)).reshape(-1)[possible]
        score = X.T @ moments.residual.reshape(-1)[possible]
        if observation.total is not None:
            # The level is fixed by the known total: only contrasts between cells move.
            share = now[possible] / observation.total
            score = score - (X.T @ share) * float(moments.residual.sum())
        hessian = (X * weight[:, None]).T @ X
        ridge = 1e-10 * np.trace(hessian) / len(hessian) + 1e-13
        step = np.linalg.solve(hessian + ridge * np.eye(len(hessian)), score)
        step *= min(1.0, 2.0 / max(float(np.abs(X @ step).max()), 1e-12))
        length = 1.0
        while length > 1e-3:
            after, trial, value = at(beta + length * step)
            if value > best:
                break
            length /= 2
        else:
            is_done = True
            break
        gain, best = value - best, value
        beta, now, moments = beta + length * step, after, trial
        if gain < 1e-11 * (1 + abs(best)):
            is_done = True
            break
    weight = (now - moments.variance.reshape(-1))[possible]
    information = (X * weight[:, None]).T @ X
    return Fit(now.reshape(observation.shape), best, beta, information, is_done)


def saturated_log_likelihood(observation: Observed | JointObserved) -> float:
    """The largest log-likelihood of any means (0 on the scale of distances)."""
    return 0.0 if isinstance(observation, JointObserved) else observation.saturated[1]


def statistics(
    observation: Observed | JointObserved,
    values: FloatArray | IntArray,
    null: Model,
    alternative: Model | None,
    start: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Test statistic and null means of each of many tables; `alternative` None is the saturated model.

    Fits begin at `start`: one table of means, or one for each table of values.
    """
    if isinstance(observation, JointObserved):

        def fitted(model: Model) -> QuasiFit:
            return observation.fitted(values, formula.design(model, observation.axes)[0], start)

        below = fitted(null)
        distance = below.distance
        if alternative is not None:
            distance = distance - fitted(alternative).distance
        return distance, below.mean.reshape(values.shape)
    # Of simulated tables fewer are worked on at once where the noise is wide.
    width = len(observation.channel.noise.pmf) if isinstance(observation.channel, Shifted) else 1000
    per = max(min(_MOST_CELLS, 100_000_000 // width) // max(observation.possible.size, 1), 1)
    if len(values) > per:
        has_one = start is None or start.ndim == len(observation.shape)
        pieces = [slice(i, i + per) for i in range(0, len(values), per)]
        starts = [start if start is None or has_one else start[piece] for piece in pieces]
        pairs = zip(pieces, starts, strict=True)
        parts = [statistics(observation, values[piece], null, alternative, own) for piece, own in pairs]
        return np.concatenate([t for t, _ in parts]), np.concatenate([m for _, m in parts])
    many = observation.many(np.asarray(values, dtype=np.int64))
    means = np.broadcast_to(_start(observation, null, start), (len(values), *observation.shape)).copy()
    low = maximise(many, means, null.generators, tolerance=QUICK, sweeps=80, total=observation.total)
    if alternative is None:
        high = many.saturated
    else:
        top = maximise(many, low.mean, alternative.generators, tolerance=QUICK, sweeps=80, total=observation.total)
        high = top.log_likelihood
    return 2 * (high - low.log_likelihood), low.mean


def _start(observation: Observed, null: Model, start: FloatArray | None) -> FloatArray:
    return flat_start(observation.guess, null, observation.possible) if start is None else start


def degrees_of_freedom(
    null: Model, alternative: Model | None, observation: Observed | JointObserved, mean: FloatArray
) -> int:
    """Difference in free parameters, counting only cells whose fitted mean is not zero."""
    used = (mean > EMPTY).reshape(-1)
    high = int(used.sum()) if alternative is None else _rank(alternative, observation, used)
    return high - _rank(null, observation, used)


def _rank(model: Model, observation: Observed | JointObserved, used: BoolArray) -> int:
    # Dummy variables of a complete table are independent; only empty cells can cost rank.
    if used.all():
        return formula.coefficients(model, observation.shape)
    matrix, _ = formula.design(model, observation.axes)
    return int(np.linalg.matrix_rank(matrix[used]))


@dataclass(frozen=True, eq=False)
class Maximum:
    """Fitted means (tables on the first axis), their log-likelihoods, and whether each table converged."""

    mean: FloatArray
    log_likelihood: FloatArray
    is_converged: FloatArray


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
    for _ in range(sweeps):
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
    return Maximum(mean, best, done)


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
    if total is None:
        return mean
    return np.asarray(mean * (total / mean.sum(axes, keepdims=True)))
