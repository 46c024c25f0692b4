"""Named models of blocks of the data: the estimate, its correction for bias, and its large-sample variance.

An estimate is a function of the whole numbers of one block and of nothing else: sums are sums of integers, and
logarithms are added up exactly, so that no other block can move it by a rounding. It may be infinite or not a number;
what is then reported is public.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import shake_256
from math import fsum, inf, log, nan, pi
from typing import Any

import numpy as np

from dalenius.core.law import IntArray
from dalenius.measurements.blocks import logistic, mixture

# Of the values of a block and the size of their unit; a model of several variables is given their `Design` in its
# place.
Fit = Callable[[IntArray, Any], float]
# The number of values of a block, their sum and that of their squares; for log odds the values are zeros and ones.
Sums = tuple[int, int, int]
FitSums = Callable[[Sums, float], float]
# How an estimate is corrected: for the bias of its mean, by a formula or by leaving values out, not at all, or for that
# of its median.
CORRECTIONS = ("analytic", "jackknife", "none", "central")
# What a request may write where a formula is known; the first is meant where it writes nothing.
_USUAL = ("analytic", "jackknife", "none")
# Huber's constant, and the factor by which the median distance from the median estimates a standard deviation.
_HUBER, _NORMAL_SCALE = 1.345, 1.4826
_FINE, _ROUNDS = 64, 50
# Groups of values that a jackknife of a slow fit leaves out, one by one.
GROUPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockModel:
    """One number that describes a list of values.

    `fit(values, unit)` is the estimate from values counted in units, `corrected` the one whose bias is of second order
    in one over the number of values (the same unless it is stated), and `central` the one whose median is off by as
    little (the corrected one unless it is stated). `variance(theta, spread)` is the variance of the estimate times the
    number of values, where the values have about the standard deviation `spread`; `inflation` by how much more,
    relative to one over the number of values. Where all is said by three sums, `sums` gives the estimates from them, by
    the name of the correction: many blocks are then summed at once. `corrections` are those that a request may write,
    the usual one first, none where nothing is known to correct; where `usual` is stated, it is meant where the request
    writes nothing. `is_firth` says that the analytic one is Firth's; a model whose fit is slow states how it is
    `jackknifed`. A model that `takes_predictors` is of records of several variables, and the spread is then that of the
    predictor asked about. One that `is_slow` takes milliseconds for a block.
    """

    fit: Fit
    variance: Callable[[float, float], float]
    corrected: Fit | None = None
    central: Fit | None = None
    inflation: float = 0.0
    least: int = 10
    sums: Mapping[str, FitSums] | None = None
    is_binary: bool = False
    corrections: tuple[str, ...] = _USUAL
    usual: str = ""
    jackknifed: Fit | None = None
    is_firth: bool = False
    takes_predictors: bool = False
    is_slow: bool = False


def estimate(name: str, correction: str, values: IntArray, unit: Any) -> float:
    model = MODELS[name]
    corrected = model.corrected or model.fit
    fits = {"analytic": corrected, "central": model.central or corrected, "none": model.fit}
    fit = model.jackknifed if correction == "jackknife" else fits[correction]
    try:
        return jackknife(model.fit, values, unit) if fit is None else fit(values, unit)
    except (ArithmeticError, ValueError):
        return nan


def estimates_of_sums(name: str, correction: str, sums: Iterable[Sums], unit: float) -> list[float]:
    by_sums = MODELS[name].sums
    assert by_sums is not None
    fit, told = by_sums[correction], []
    for block in sums:
        try:
            told.append(fit(block, unit))
        except (ArithmeticError, ValueError):
            told.append(nan)
    return told


def of_sums(
    fit: FitSums,
    corrected: FitSums | None = None,
    central: FitSums | None = None,
    *,
    is_binary: bool = False,
    **more: Any,
) -> BlockModel:
    corrected = corrected or fit
    sums = {"none": fit, "analytic": corrected, "central": central or corrected}

    def of_values(fit: FitSums) -> Fit:
        def fitted(values: IntArray, unit: float) -> float:
            told = (values != 0).astype(np.int64) if is_binary else values
            return fit((len(told), int(told.sum()), int((told * told).sum())), unit)

        return fitted

    plain, *others = (of_values(each) for each in sums.values())
    return BlockModel(fit=plain, corrected=others[0], central=others[1], sums=sums, is_binary=is_binary, **more)


def jackknife(fit: Fit, values: IntArray, unit: Any) -> float:
    """n times the estimate less n - 1 times the mean of those that leave one value out."""
    count = len(values)
    if count < 2:
        return nan
    points, places, times = np.unique(values, axis=0, return_index=True, return_counts=True)
    without = [fit(np.delete(values, place, axis=0), unit) for place in places.tolist()]
    mean = fsum(times[i] * without[i] for i in range(len(points))) / count
    return count * fit(values, unit) - (count - 1) * mean


def grouped_jackknife(fit: Fit, values: IntArray, unit: Any) -> float:
    """g times the estimate less g - 1 times the mean of those that leave one of g groups of about as many values out.

    Which group a value is in is drawn by a digest of all values in order, so that it does not follow their size, and an
    estimate stays a function of its block's values in any order.
    """
    ordered = np.sort(values).astype("<i8")
    keys = np.frombuffer(shake_256(ordered.tobytes()).digest(8 * len(ordered)), dtype="<u8")
    groups = np.argsort(np.argsort(keys, kind="stable"), kind="stable") % GROUPS
    without = [fit(ordered[groups != group], unit) for group in range(GROUPS)]
    return GROUPS * fit(ordered, unit) - (GROUPS - 1) * fsum(without) / GROUPS


def _mean(sums: Sums, unit: float, added: float = 0.0) -> float:
    return (sums[1] * unit + added) / sums[0]


def _rate(sums: Sums, unit: float, less: float = 0.0) -> float:
    count, total = sums[0], sums[1] * unit
    return (count - less) / total if total > 0 else inf if count else nan


def _logit(sums: Sums, unit: float, added: float = 0.0) -> float:
    count, ones, _ = sums
    others = count - ones
    if not count:
        return nan
    if not min(ones, others) and not added:
        return inf if ones else -inf
    return log((ones + added) / (others + added))


def _variance(sums: Sums, unit: float, less: float = 0.0) -> float:
    count, total, squares = sums
    return (count * squares - total * total) * unit * unit / (count * (count - less))


def _shape(values: IntArray, unit: float) -> float:
    """Of a gamma law, in closed form; a zero counts as half a step."""
    numbers = [float(v) if v > 0 else 0.5 for v in values.tolist()]
    logs = [log(v) for v in numbers]
    total, count = fsum(numbers), len(numbers)
    below = count * fsum(v * w for v, w in zip(numbers, logs, strict=True)) - fsum(logs) * total
    return count * total / below if below > 0 else inf if count else nan


def _corrected_shape(values: IntArray, unit: float, skew: float = 0.0) -> float:
    k = _shape(values, unit)
    return k - ((3 - skew) * k - 2 / 3 * k / (1 + k) - 4 / 5 * k / (1 + k) ** 2) / len(values)


def _beta(values: IntArray, unit: float) -> float:
    """First shape of a beta law of numbers between 0 and 1, from their first two moments."""
    sums = (len(values), int(values.sum()), int((values * values).sum()))
    variance, mean = _variance(sums, unit), _mean(sums, unit)
    return mean * (mean * (1 - mean) / variance - 1)


def _trigamma(x: float) -> float:
    early = 0.0
    while x < 6:
        early, x = early + 1 / (x * x), x + 1
    return early + 1 / x + 1 / (2 * x * x) + 1 / (6 * x**3) - 1 / (30 * x**5)


def _middle(values: IntArray) -> int:
    count = len(values)
    return int(values[(count - 1) // 2]) + int(values[count // 2])


def _median(values: IntArray, unit: float) -> float:
    return _middle(np.sort(values)) * unit / 2 if len(values) else nan


def _huber(values: IntArray, unit: float) -> float:
    """Huber's location in whole sixty-fourths of a step; its scale is the median distance from the median."""
    if not len(values):
        return nan
    fine = np.sort(values) * _FINE
    centre = _middle(fine) // 2
    cut = int(_HUBER * _NORMAL_SCALE * (_middle(np.sort(np.abs(fine - centre))) // 2))
    for _ in range(_ROUNDS if cut else 0):
        move = int(np.clip(fine - centre, -cut, cut).sum()) // len(fine)
        centre += move
        if not move:
            break
    return centre * unit / _FINE


def _binomial(theta: float) -> float:
    """One over p (1 - p) at a logit, cut where it would overflow."""
    odds = np.exp(min(abs(theta), 30.0))
    return float((1 + odds) ** 2 / odds)


def _spread_of_part(theta: float, spread: float) -> float:
    """Of a mean or deviation of half of the values, some of which might belong to the other half."""
    return 3 * spread**2


def _of_mixture(fit: Fit, variance: Callable[[float, float], float]) -> BlockModel:
    return BlockModel(
        fit=fit,
        variance=variance,
        inflation=10.0,
        least=50,
        corrections=("jackknife",),
        usual="none",
        jackknifed=partial(grouped_jackknife, fit),
        is_slow=True,
    )


MODELS: Mapping[str, BlockModel] = {
    "beta": BlockModel(
        fit=_beta,
        corrected=lambda values, unit: jackknife(_beta, values, unit),
        variance=lambda theta, spread: 2.2 * theta**2,
        inflation=6.0,
        least=20,
    ),
    "exponential": of_sums(
        _rate,
        corrected=lambda sums, unit: _rate(sums, unit, 1),
        central=lambda sums, unit: _rate(sums, unit, 1 / 3),
        variance=lambda theta, spread: theta**2,
        inflation=2.0,
        is_firth=True,
    ),
    "function": BlockModel(
        # A function of the custodian's runs in processes of its own; without them a block has no estimate.
        fit=lambda values, unit: nan,
        # Of what it estimates nothing is known; as if it were a mean.
        variance=lambda theta, spread: spread**2,
        least=1,
        corrections=(),
    ),
    "gamma": BlockModel(
        fit=_shape,
        corrected=_corrected_shape,
        central=lambda values, unit: _corrected_shape(values, unit, 4 / 3),
        variance=lambda theta, spread: theta / max(theta * _trigamma(max(theta, 0.01)) - 1, 1e-9),
        inflation=6.0,
        least=20,
    ),
    "gaussian_mean": of_sums(_mean, variance=lambda theta, spread: spread**2),
    "gaussian_variance": of_sums(
        _variance,
        corrected=lambda sums, unit: _variance(sums, unit, 1),
        central=lambda sums, unit: _variance(sums, unit, 5 / 3),
        variance=lambda theta, spread: 2 * theta**2,
        inflation=1.0,
    ),
    "huber": BlockModel(fit=_huber, variance=lambda theta, spread: 1.05 * spread**2),
    "logistic": BlockModel(
        fit=lambda rows, design: logistic.fitted(rows, design, is_penalised=False),
        corrected=lambda rows, design: logistic.fitted(rows, design, is_penalised=True),
        # Even odds, and a predictor that is spread independently of the others.
        variance=lambda theta, spread: 4 / spread**2,
        inflation=6.0,
        least=30,
        is_firth=True,
        takes_predictors=True,
        is_slow=True,
    ),
    "logit": of_sums(
        _logit,
        corrected=lambda sums, unit: _logit(sums, unit, 1 / 2),
        central=lambda sums, unit: _logit(sums, unit, 1 / 6),
        is_binary=True,
        variance=lambda theta, spread: _binomial(theta),
        inflation=1.0,
        is_firth=True,
    ),
    "median": BlockModel(fit=_median, variance=lambda theta, spread: pi / 2 * spread**2),
    "mixture_lower_deviation": _of_mixture(partial(mixture.deviation, component=0), _spread_of_part),
    "mixture_lower_mean": _of_mixture(partial(mixture.mean, component=0), _spread_of_part),
    "mixture_upper_deviation": _of_mixture(partial(mixture.deviation, component=1), _spread_of_part),
    "mixture_upper_mean": _of_mixture(partial(mixture.mean, component=1), _spread_of_part),
    "mixture_upper_share": _of_mixture(mixture.share, lambda theta, spread: 0.5),
    "poisson": of_sums(
        _mean,
        central=lambda sums, unit: _mean(sums, unit, 1 / 6),
        variance=lambda theta, spread: abs(theta),
        is_firth=True,
    ),
}
