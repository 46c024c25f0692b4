"""Comparisons between models and groups: nested log-linear models, homogeneity, conditional independence, trend.

Every default p-value simulates the whole measurement under the smaller model (see `calibration`).
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import numpy as np

from dalenius.core.estimate import TestResult
from dalenius.core.law import FloatArray
from dalenius.errors import ParameterError
from dalenius.inference import formula
from dalenius.inference.calibration import largest_p, null_statistics
from dalenius.inference.fitting import fit_one
from dalenius.inference.formula import Model
from dalenius.inference.independence import nested_test, sampling_note
from dalenius.inference.interval import check_among
from dalenius.inference.observe import Source, observe
from dalenius.inference.parameters import AxisName, NestedTest, Replicates, Seed
from dalenius.inference.question import Hint

Direction = Annotated[
    str,
    Hint(
        help="two-sided, increasing or decreasing.",
        choices=("two-sided", "increasing", "decreasing"),
        options=("--alternative",),
    ),
]
_SCORE = "A score for each label of the {} axis; 0, 1, 2, … if left out."
RowScores = Annotated[Sequence[float], Hint(help=_SCORE.format("first"), options=("--row-score",))]
ColumnScores = Annotated[Sequence[float], Hint(help=_SCORE.format("second"), options=("--column-score",))]
_EXTREMITIES = {"two-sided": np.abs, "increasing": np.positive, "decreasing": np.negative}


def compare(
    source: Source,
    null: Annotated[str, Hint(help='The smaller model, such as "A*C + B*C".', is_positional=True)],
    alternative: Annotated[
        str | None, Hint(help="The larger model; the saturated one if left out.", is_positional=True)
    ] = None,
    *axes: AxisName,
    method: NestedTest = "monte-carlo",
    replicates: Replicates = 999,
    seed: Seed = 0,
    total: int | None = None,
) -> TestResult:
    """Compare two nested log-linear models."""
    observation = observe(source, *axes, total=total, takes_weights=True)
    low = formula.model(null, observation.names)
    high = None if alternative is None else formula.model(alternative, observation.names)
    if high is not None and not (low <= high and low.terms != high.terms):
        raise ParameterError(f"{low} is not a smaller model inside {high}; models are compared only if nested.")
    if high is not None and high.terms == formula.saturated(observation.names).terms:
        high = None
    other = "the saturated model" if high is None else high.notation
    return nested_test(
        observation, low, high, f"{low.notation} against {other}", method=method, replicates=replicates, seed=seed
    )


def homogeneity(
    source: Source, *axes: AxisName, method: NestedTest = "monte-carlo", replicates: Replicates = 999, seed: Seed = 0
) -> TestResult:
    """Test that an outcome (the second axis) is distributed alike in all groups (the first)."""
    groups, outcome = _named(axes, 2, "two axes: the groups, then the outcome")
    observation = observe(source, groups, outcome)
    null = formula.independent(observation.names)
    title = f"{outcome} is distributed alike in all groups of {groups}"
    return nested_test(observation, null, None, title, method=method, replicates=replicates, seed=seed)


def conditional_independence(
    source: Source, *axes: AxisName, method: NestedTest = "monte-carlo", replicates: Replicates = 999, seed: Seed = 0
) -> TestResult:
    """Test that two axes are independent within each label of a third, named last."""
    first, second, given = _named(axes, 3, "three axes: the two that are tested, then the one that is given")
    observation = observe(source, first, second, given)
    null = Model(formula.closed([frozenset([0, 2]), frozenset([1, 2])]), observation.names)
    title = f"Independence of {first} and {second} given {given}"
    return nested_test(observation, null, None, title, method=method, replicates=replicates, seed=seed)


def trend(
    source: Source,
    *axes: AxisName,
    alternative: Direction = "two-sided",
    row_scores: RowScores = (),
    column_scores: ColumnScores = (),
    replicates: Replicates = 999,
    seed: Seed = 0,
) -> TestResult:
    """Test that an ordered outcome (the second axis) has no linear trend over the first.

    Linear-by-linear association, one degree of freedom.
    """
    rows, columns = _named(axes, 2, "two ordered axes: the rows, then the outcome")
    check_among("alternative", alternative, _EXTREMITIES)
    observation = observe(source, rows, columns)
    scores = [
        _scores(given, width) for given, width in zip((row_scores, column_scores), observation.shape, strict=True)
    ]
    null = formula.independent(observation.names)
    fit = fit_one(observation, null)
    variance = observation.variance(fit.mean)
    observed = _slope(observation.guess[None], fit.mean[None], variance, scores)[0]
    slope = partial(_slope, variance=variance, scores=scores)
    slopes = null_statistics(observation, null, fit.mean, slope, replicates=replicates, seed=seed)
    extremity = _EXTREMITIES[alternative]
    p_value, _ = largest_p(float(extremity(observed)), [extremity(slope) for slope in slopes])
    return TestResult(
        name=f"Trend of {columns} over {rows} ({alternative})",
        statistic=float(observed),
        p_value=p_value,
        method=f"standardised linear-by-linear association, {replicates} simulated measurements",
        degrees_of_freedom=1,
        assumptions=(sampling_note(observation), *observation.notes),
        details={"simulated": slopes[0], "fitted": fit.mean},
    )


def _named(axes: tuple[str, ...], count: int, what: str) -> tuple[str, ...]:
    if len(axes) != count:
        raise ParameterError(f"Name {what}.")
    return axes


def _scores(given: Sequence[float], width: int) -> FloatArray:
    if not len(given):
        return np.arange(width, dtype=np.float64)
    scores = np.asarray(given, dtype=np.float64)
    if len(scores) != width or not np.all(np.isfinite(scores)):
        raise ParameterError(f"{width} finite scores are needed, one for each label; received {len(scores)}.")
    return scores


def _slope(guess: FloatArray, mean: FloatArray, variance: FloatArray, scores: list[FloatArray]) -> FloatArray:
    """Sum of centred scores times residuals over its standard deviation, for each table."""
    total = mean.sum((1, 2), keepdims=True)
    row, column = scores[0][None, :, None], scores[1][None, None, :]
    u = row - (mean * row).sum((1, 2), keepdims=True) / total
    v = column - (mean * column).sum((1, 2), keepdims=True) / total
    spread = ((u * v) ** 2 * (mean + variance)).sum((1, 2))
    return np.asarray((u * v * (guess - mean)).sum((1, 2)) / np.sqrt(np.maximum(spread, 1e-12)))
