"""One coefficient of a logistic regression in one block: plain or penalised maximum likelihood.

Firth's penalty, half the logarithm of the information's determinant, takes the bias of first order away and is finite
where the plain estimate is not, as when a predictor parts the ones from the zeros. Sums are exact (`fsum`) and the
exponentials those of one number each, so that an estimate is a function of its block's records in any order.

References
    Firth (1993); Heinze & Schemper (2002) for separation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, isfinite, log, log1p, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import IntArray

_ROUNDS, _HALVINGS, _LONGEST = 40, 8, 5.0
_CLOSE, _SINGULAR = 1e-9, 1e-10
Floats = NDArray[np.float64]
Matrix = list[list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """Declared bounds of a predictor in steps, and the size of a step."""

    low: int
    high: int
    unit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The predictors after the outcome, in the order of columns, and which coefficient is reported (0: intercept)."""

    predictors: tuple[Predictor, ...]
    coefficient: int = 1

    def columns(self, rows: IntArray) -> list[Floats]:
        """A column of ones, and the predictors from -1 to 1 between their bounds."""
        columns = [np.ones(len(rows))]
        for number, each in enumerate(self.predictors, start=1):
            columns.append((2 * rows[:, number] - (each.low + each.high)) / (each.high - each.low))
        return columns

    def reported(self, beta: Sequence[float]) -> float:
        """The coefficient in the units of its predictor, or the log odds where all predictors are zero."""
        if self.coefficient:
            each = self.predictors[self.coefficient - 1]
            return beta[self.coefficient] * 2 / ((each.high - each.low) * each.unit)
        pairs = zip(beta[1:], self.predictors, strict=True)
        return beta[0] - fsum(b * (each.low + each.high) / (each.high - each.low) for b, each in pairs)


def fitted(rows: IntArray, design: Design, *, is_penalised: bool) -> float:
    """The coefficient; not a number where the records are too few, or predictors are constant or move together."""
    if not len(rows):
        return nan
    told = np.column_stack([rows[:, 0] != 0, rows[:, 1:]]).astype(np.int64)
    distinct, times = np.unique(told, axis=0, return_counts=True)
    block = _Block(design.columns(distinct), distinct[:, 0], times, is_penalised)
    if not is_penalised and len(np.unique(distinct[:, 0])) < 2:
        return nan
    beta = block.maximum()
    return nan if beta is None else design.reported(beta)


@dataclass(frozen=True, slots=True)
class _State:
    """The likelihood at one place, its slope, and the Cholesky factor of the information."""

    value: float
    slope: list[float]
    factor: Matrix


@dataclass(frozen=True, slots=True)
class _Block:
    columns: list[Floats]
    ones: IntArray
    times: IntArray
    is_penalised: bool

    def maximum(self) -> list[float] | None:
        """By Newton's steps, shortened until the likelihood rises; None where the information is singular at first."""
        beta = [0.0] * len(self.columns)
        state = self._at(beta)
        if state is None:
            return None
        for _ in range(_ROUNDS):
            step = _solved(state.factor, state.slope)
            longest = max(abs(part) for part in step)
            step = [part * min(1.0, _LONGEST / longest) for part in step] if longest else step
            moved, further = beta, None
            for _ in range(_HALVINGS):
                moved = [b + part for b, part in zip(beta, step, strict=True)]
                further = self._at(moved)
                if further is not None and further.value >= state.value - _CLOSE:
                    break
                step = [part / 2 for part in step]
            if further is None:
                break
            beta, state = moved, further
            if max(abs(part) for part in step) < _CLOSE:
                break
        return beta

    def _at(self, beta: Sequence[float]) -> _State | None:
        linear = np.zeros(len(self.ones))
        for b, column in zip(beta, self.columns, strict=True):
            linear = linear + b * column
        chances = np.array([_chance(each) for each in linear.tolist()])
        weights = chances * (1 - chances)
        factor = _factor(self._information(self.times * weights))
        if factor is None:
            return None
        logs = (_log_chance(e) if one else _log_chance(-e) for e, one in zip(linear, self.ones, strict=True))
        value = fsum(t * each for t, each in zip(self.times.tolist(), logs, strict=True))
        residuals = self.ones - chances
        if self.is_penalised:
            value += fsum(log(factor[i][i]) for i in range(len(factor)))
            residuals = residuals + weights * self._leverage(factor) * (0.5 - chances)
        slope = [fsum((self.times * residuals * column).tolist()) for column in self.columns]
        return _State(value, slope, factor) if isfinite(value) else None

    def _information(self, weights: Floats) -> Matrix:
        size = len(self.columns)
        matrix = [[0.0] * size for _ in range(size)]
        for i in range(size):
            for j in range(i + 1):
                matrix[i][j] = matrix[j][i] = fsum((weights * self.columns[i] * self.columns[j]).tolist())
        return matrix

    def _leverage(self, factor: Matrix) -> Floats:
        """Of each record, but for its weight: the length of its predictors in the metric of the information."""
        solved: list[Floats] = []
        for i, column in enumerate(self.columns):
            rest = column
            for j in range(i):
                rest = rest - factor[i][j] * solved[j]
            solved.append(rest / factor[i][i])
        total = np.zeros(len(self.ones))
        for part in solved:
            total = total + part * part
        return total


def _chance(linear: float) -> float:
    return 1 / (1 + exp(-linear)) if linear > -700 else 0.0


def _log_chance(linear: float) -> float:
    return -log1p(exp(-linear)) if linear > 0 else linear - log1p(exp(linear)) if linear > -inf else -inf


def _factor(matrix: Matrix) -> Matrix | None:
    """Lower triangular, or None where a pivot is lost in rounding."""
    size = len(matrix)
    factor = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - fsum(factor[i][m] * factor[j][m] for m in range(j))
            if i > j:
                factor[i][j] = rest / factor[j][j]
            elif rest <= _SINGULAR * matrix[i][i] or not isfinite(rest):
                return None
            else:
                factor[i][i] = sqrt(rest)
    return factor


def _solved(factor: Matrix, right: Sequence[float]) -> list[float]:
    solved = list(right)
    for i in range(len(solved)):
        solved[i] = (solved[i] - fsum(factor[i][j] * solved[j] for j in range(i))) / factor[i][i]
    for i in reversed(range(len(solved))):
        solved[i] = (solved[i] - fsum(factor[j][i] * solved[j] for j in range(i + 1, len(solved)))) / factor[i][i]
    return solved
