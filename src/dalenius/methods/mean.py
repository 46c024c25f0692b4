"""Mean of a numeric variable in each cell: two totals that tell its total and its count, and its squares for the error of sampling.

`error = "bootstrap"` takes both errors from noisy totals of resampled files.

`error = "sampling"` gives both errors: nine tenths of the budget go to the totals and one to the squares. `error = "noise"` leaves
the squares out. Where the number of rows is public it is not paid for. With `weight` it is the weighted mean, with the error of the design.

A request without `error` is the older question, which stays as it was: a centred total and a count, measured side by side with
half of the budget each, and divided. Neither is biased, their ratio is nearly unbiased, and where the released count is below one
there is no mean. Both are of the same rows: those that have the number. The error of a mean depends on how many records a cell holds, so that what is said beforehand is the
error in a cell of so many records.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np

from dalenius.core.domain import DROP
from dalenius.core.estimate import Draws
from dalenius.core.law import Joint
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate
from dalenius.core.release import Block, Table
from dalenius.errors import Unsupported
from dalenius.linear.estimates import BOOTSTRAP
from dalenius.measurements.noisy import Noisy
from dalenius.methods._at_the_data import plan_mean_at_the_data
from dalenius.methods._clipped_mean import plan_clipped_mean, with_tail
from dalenius.methods._design import no_sampling
from dalenius.methods._moments import (
    CLIPPED,
    SAMPLING,
    TYPICAL,
    MeasuredPart,
    check_size,
    constants,
    noisy,
    plan_estimate,
    public_size,
    rows_with,
    sampling_notes,
    squares_part,
    totals_part,
    wants_sampling,
    whole_size,
)
from dalenius.methods._priced import additive_table, limits_of, priced, share
from dalenius.methods._replicates import Resampled, half_width_of, plan_replicates, with_squares
from dalenius.methods._weighted import fixed_weight
from dalenius.methods._weighted_estimate import plan_weighted_mean
from dalenius.methods.margins.means import plan_means
from dalenius.methods.margins.weighted import refuse_design
from dalenius.spec.document import Exact, Part
from dalenius.spec.method import Words
from dalenius.spec.question import Question
from dalenius.spec.remarks import remark
from dalenius.statistics.count import Count
from dalenius.statistics.joint_moments import JointMoments
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.mean import Mean

__all__ = ["MeanMethod"]

# The share of the budget that the error of sampling takes.
SQUARES = Fraction(1, 10)
NOISE = "noise"


class MeanParameters(Part):
    """Keys of a mean: which error it is given with."""

    section: ClassVar[str] = "[table] of a mean"

    error: Literal["noise", "sampling", "bootstrap"] | None = None
    replicates: int | None = None
    squares: bool | None = None
    learn_bounds: Exact | None = None
    candidates: tuple[Exact, ...] = ()
    tail: Exact | None = None
    bound_clipped: Literal[True] | None = None
    regularise: Exact | None = None
    common_weight: Exact | None = None
    moments: Literal["together"] | None = None


class MeanMethod:
    """centre + total about the centre / count."""

    name: ClassVar[str] = "mean"
    meaning: ClassVar[int] = 1
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    takes_weight: ClassVar[bool] = True
    has_error: ClassVar[bool] = True
    is_offered: ClassVar[bool] = True
    scopes: ClassVar[tuple[Scope, ...]] = (
        Scope.EVERYWHERE,
        Scope.AT_THE_DATA,
        Scope.WITHIN_THE_DATA,
    )
    form_errors: ClassVar[tuple[str, ...]] = (BOOTSTRAP,)
    belongs: ClassVar[Mapping[str, str]] = {
        "replicates": 'error = "bootstrap"',
        "squares": 'error = "bootstrap"',
        "candidates": "learn_bounds",
        "tail": "learn_bounds",
        "bound_clipped": "learn_bounds",
        "regularise": "weight",
        "common_weight": "weight",
        "moments": 'error = "sampling"',
    }
    Parameters: ClassVar[type[Part]] = MeanParameters
    form_keys: ClassVar[Mapping[str, Any]] = {"error": "sampling"}
    words: ClassVar[Mapping[str, Words]] = {
        "en": Words(
            title="Mean of {of}",
            preview="In a cell of {records} records, expect the mean to be off by at most ± {error} (95 %); in smaller"
            " cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a mean is missing where the released count is"
            " below one.",
        ),
        "de": Words(
            title="Mittelwert von {of}",
            preview="In einer Zelle mit {records} Datensätzen weicht der Mittelwert voraussichtlich um höchstens ± {error}"
            " ab (95 %), in kleineren Zellen um mehr.",
            caption="± ist die Fehlerspanne durch das Schutzrauschen, {level}; ein Mittelwert fehlt, wo die veröffentlichte"
            " Anzahl unter eins liegt.",
        ),
    }
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["region"], "measure": "mean", "of": "income"},
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
        {
            "table": {"rows": ["region"], "measure": "mean", "of": "income", "error": "sampling"},
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
        {
            "table": {
                "rows": ["region"],
                "measure": "mean",
                "of": "income",
                "margins": "all",
            },
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
        {
            "table": {"measure": "mean", "of": "age", "error": "noise"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {
                "rows": ["region"],
                "measure": "mean",
                "of": "income",
                "error": "bootstrap",
                "replicates": 10,
            },
            "privacy": {"definition": "approximate", "epsilon": 4, "delta": "1/1000000"},
        },
        {
            "table": {"rows": ["sex"], "measure": "mean", "of": "income", "weight": "weight"},
            "privacy": {"definition": "zero_concentrated", "rho": 2},
        },
        {
            "table": {
                "rows": ["sex"],
                "measure": "mean",
                "of": "income",
                "weight": "weight",
                "error": "noise",
                "margins": "all",
            },
            "privacy": {"definition": "zero_concentrated", "rho": 2},
        },
        {
            "table": {
                "rows": ["sex"],
                "measure": "mean",
                "of": "income",
                "error": "sampling",
                "learn_bounds": "1/5",
                "candidates": [0, 10, 20, 40],
                "bound_clipped": True,
            },
            "privacy": {"definition": "zero_concentrated", "rho": 1},
        },
        {
            "table": {
                "measure": "mean",
                "of": "income",
                "error": "noise",
                "learn_bounds": "1/5",
                "candidates": [0, 20, 40],
                "tail": "1/20",
            },
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {
                "rows": ["sex"],
                "measure": "mean",
                "of": "income",
                "weight": "weight",
                "regularise": "1/2",
            },
            "privacy": {"definition": "zero_concentrated", "rho": 2},
        },
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """By the two totals, or as older requests were planned; at the data one total over a public number of rows."""
        if question.scope.is_data_dependent:
            return plan_mean_at_the_data(question)
        error = question.parameter("error")
        if question.parameter("learn_bounds") is not None:
            return plan_clipped_mean(question)
        if error != BOOTSTRAP and question.weight is not None:
            if question.margins is None:
                return plan_weighted_mean(question)
            refuse_design(question, "means")
            return plan_means(question, fixed_weight(question))
        if error in (None, NOISE, SAMPLING) and question.margins is not None:
            if error is not None:
                raise Unsupported(
                    "A list of means has the error of its noise alone: leave error out, or ask for one table.",
                    key="error",
                )
            return plan_means(question)
        if error == BOOTSTRAP:
            return _replicated(question)
        return (
            _older(question) if error is None else _moments(question, has_sampling=wants_sampling(question))
        )

    @staticmethod
    def statistic(question: Question) -> Any:
        """One mean of a public number of rows."""
        low, high = question.bounds.low, question.bounds.high
        return Mean(value_name=question.of, low=low, high=high, size=whole_size(question))

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """As it is; with bootstrap errors it says whether squares are measured, which is a newer question than those that did not."""
        return "mean", with_squares(with_tail(parameters))

    @staticmethod
    def keys_with_weight(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """With the error of sampling, unless another one is asked for."""
        return {"error": SAMPLING, **parameters}


def _replicated(question: Question) -> TablePlan:
    """Replicates of the total about the midpoint, and the number of rows where it is not public."""
    bounds = question.bounds
    return plan_replicates(
        question,
        "mean",
        f"mean of {question.of}",
        Resampled.of_values(question, is_centred=True),
        size=public_size(question),
        is_quotient=True,
        scale=bounds.step,
        limits=(bounds.lower, bounds.upper),
        moments=half_width_of(question, lambda asked: _moments(asked, has_sampling=True)),
    )


def _moments(question: Question, *, has_sampling: bool) -> TablePlan:
    """Two mirrored totals, or one where the count is public, and the squares if they are asked for."""
    bounds, size, query = question.bounds, public_size(question), rows_with(question)
    if question.parameter("moments") is not None:
        return _together(question, size, has_sampling=has_sampling)
    kept = 1 - SQUARES if has_sampling else Fraction(1)
    parts = [totals_part(question, query, size, kept)]
    if has_sampling:
        parts.append(squares_part(question, query, question.of, size, SQUARES))
    return plan_estimate(
        question,
        "mean",
        f"mean of {question.of}",
        tuple(parts),
        {"size": size, "scale": bounds.step} | constants(bounds),
        (bounds.lower, bounds.upper),
        warnings=(CLIPPED, *sampling_notes(question)),
    )


def _together(question: Question, size: int | None, *, has_sampling: bool) -> TablePlan:
    """Total and squares as one answer, of which the squares cost nothing: a public number of rows under replace."""
    if question.domain.draws in (Draws.CENSUS, Draws.CLUSTERS):
        raise Unsupported(
            f'moments = "together" measures the error of sampling. {no_sampling(question)}', key="moments"
        )
    if size is None or not has_sampling:
        raise Unsupported(
            'moments = "together" is for the mean of a public number of rows, with error = "sampling": relation = "replace", a declared'
            " size, no rows, columns or conditions, and rules that keep every row.",
            key="moments",
        )
    bounds, query = question.bounds, rows_with(question)
    if bounds.low == bounds.high:
        raise Unsupported(f"The bounds of {question.of!r} are one number; there is nothing to estimate.")
    is_pure = question.definition.name == "pure"
    statistic = JointMoments.of(query, bounds.low, bounds.high, is_pure=is_pure)
    width = bounds.high - bounds.low
    check_size(question, question.of, max(statistic.first * width, statistic.second * width**2))
    part = MeasuredPart(
        arrays=("above", "squares"),
        measurement=noisy(question, f"total and squares of {question.of}", statistic, Fraction(1)),
        typical=(statistic.first * width / 2, statistic.second * width**2 / 12),
    )
    factors = {"above factor": statistic.first, "squares factor": statistic.second}
    return plan_estimate(
        question,
        "mean",
        f"mean of {question.of}",
        (part,),
        {"size": size, "scale": bounds.step} | constants(bounds) | factors,
        (bounds.lower, bounds.upper),
        warnings=(CLIPPED, *sampling_notes(question)),
    )


def _older(question: Question) -> TablePlan:
    """A count and a centred total for each cell, half of the budget each."""
    bounds = question.bounds
    centre = (bounds.low + bounds.high) // 2
    half = share(question.budget, Fraction(1, 2))
    # A row without the number is in no total, so it must not be in the count that the total is divided by.
    may_lack = DROP in (bounds.missing, bounds.outside)
    counting = Count(replace(question.query, value=question.of) if may_lack else question.query)
    summing = MagnitudeTable(
        query=replace(question.query, aggregate=Aggregate.TOTAL, value=question.of, centre=centre),
        low=bounds.low - centre,
        high=bounds.high - centre,
    )
    counted = f"count of rows with {question.of}" if may_lack else "count"
    count = Noisy(counted, counting, question.choose(counting.sensitivity(question.neighbours), half))
    total = Noisy(
        f"total of {question.of} about the centre",
        summing,
        question.choose(summing.sensitivity(question.neighbours), half),
        bounds.step,
    )
    offset, name = float(centre * bounds.step), f"mean of {question.of}"

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        counts = additive_table(blocks[0], "count")
        return (ratio_about(offset, additive_table(blocks[1], "centred total"), counts, name), counts)

    return priced(
        question,
        (count, total),
        assemble,
        # The law tells a mean over such rows from the one that counted every row: neither is served for the other.
        law=Joint("mean", {"centre": str(centre * bounds.step)} | ({"counted": counted} if may_lack else {})),
        mechanism=total.mechanism.name,
        strategy="mean",
        limits=limits_of(question),
        preview=_preview(question, count, total),
        warnings=(remark("mean"),),
        refusal=f"The two halves of a mean do not fit {question.budget.definition!r}; use zero_concentrated.",
    )


def ratio_about(centre: float, totals: Table, counts: Table, name: str) -> Table:
    """centre + total / count with its first-order variance; NaN where the released count is below one."""
    enough = counts.values >= 1
    n = np.where(enough, counts.values, np.nan)
    mean = totals.values / n
    variance = (totals.variance + mean**2 * counts.variance) / n**2
    return Table(
        name=name,
        space=totals.space,
        values=centre + mean,
        variance=variance,
        measure="mean",
        is_unbiased=False,
    )


def _preview(question: Question, count: Noisy, total: Noisy) -> dict[str, Any]:
    """The error in a cell of typical size, at the largest distance from the centre that a mean can have."""
    space, bounds = question.space, question.bounds
    size = question.domain.public_size
    records = TYPICAL if size is None else max(1, size // space.size)
    farthest = float(bounds.high - bounds.low) / 2 * float(bounds.step)
    error = sqrt(total.law.variance + farthest**2 * count.law.variance) / records
    return {
        "cells": space.size,
        "structural_zeros": len(space.structural_zeros),
        "records": records,
        "std_error": error,
        "half_width_95": NormalDist().inv_cdf(0.975) * error,
        "law": total.law.to_dict(),
    }
