"""Mean of a numeric variable in each cell: two totals that tell its total and its count, and its squares for the error
of sampling.

`error = "bootstrap"` takes both errors from noisy totals of resampled files.

Both errors are given: nine tenths of the budget go to the totals and one to the squares; `error = "noise"` leaves the
squares out. Where the number of rows is public it is not paid for, and squares are measured beside the total for
nothing. With `weight` it is the weighted mean, with the error of the design. The error of a mean depends on how many
records a cell holds, so that what is said beforehand is the error in a cell of so many records.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from dalenius.algebra.estimates import BOOTSTRAP
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.errors import TooLarge, Unsupported
from dalenius.methods._at_the_data import plan_mean_at_the_data
from dalenius.methods._weighted_estimate import plan_weighted_mean
from dalenius.methods.margins.means import plan_means
from dalenius.methods.margins.weighted import refuse_design
from dalenius.plans.clipped_mean import plan_clipped_mean, with_tail
from dalenius.plans.moments import (
    CLIPPED,
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
from dalenius.plans.replicates import Resampled, half_width_of, plan_replicates, with_squares
from dalenius.plans.weighted import fixed_weight
from dalenius.spec.document import Exact, Part
from dalenius.spec.method import Method, Words, example
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.joint_moments import JointMoments
from dalenius.statistics.mean import Mean
from dalenius.translation import translated

__all__ = ["MeanMethod"]

# The share of the budget that the error of sampling takes.
SQUARES = Fraction(1, 10)
NOISE = "noise"


class MeanParameters(Part):
    """Keys of a mean: which error it is given with."""

    error: Literal["noise", "sampling", "bootstrap"] = "sampling"
    replicates: int | None = None
    squares: bool | None = None
    learn_bounds: Exact | None = None
    candidates: tuple[Exact, ...] = ()
    tail: Exact | None = None
    bound_clipped: Literal[True] | None = None
    regularise: Exact | None = None
    common_weight: Exact | None = None


class MeanMethod(Method):
    """centre + total about the centre / count."""

    name: str = "mean"
    takes_weight: bool = True
    scopes: tuple[Scope, ...] = (Scope.ALL_DATA, Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
    form_errors: tuple[str, ...] = (BOOTSTRAP,)
    belongs: Mapping[str, str] = {
        "replicates": 'error = "bootstrap"',
        "squares": 'error = "bootstrap"',
        "candidates": "learn_bounds",
        "tail": "learn_bounds",
        "bound_clipped": "learn_bounds",
        "regularise": "weight",
        "common_weight": "weight",
    }
    Parameters: type[Part] = MeanParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Mean of {of}",
            preview="In a cell of {records} records, expect the mean to be off by at most ± {error} (95 %); in smaller"
            " cells by more.",
            caption="± is the margin of error from privacy noise, {level}; a mean is missing where the released count "
            "is below one.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["region"], measure="mean", of="income", rho="1/4"),
        example(rows=["region"], measure="mean", of="income", error="sampling", rho="1/4"),
        example(rows=["region"], measure="mean", of="income", margins="all", rho="1/4"),
        example(measure="mean", of="age", error="noise", epsilon=1),
        example(
            rows=["region"], measure="mean", of="income", error="bootstrap", replicates=10, epsilon=4, delta="1/1000000"
        ),
        example(rows=["sex"], measure="mean", of="income", weight="weight", rho=2),
        example(rows=["sex"], measure="mean", of="income", weight="weight", error="noise", margins="all", rho=2),
        example(
            rows=["sex"],
            measure="mean",
            of="income",
            error="sampling",
            learn_bounds="1/5",
            candidates=[0, 10, 20, 40],
            bound_clipped=True,
            rho=1,
        ),
        example(
            measure="mean",
            of="income",
            error="noise",
            learn_bounds="1/5",
            candidates=[0, 20, 40],
            tail="1/20",
            epsilon=1,
        ),
        example(rows=["sex"], measure="mean", of="income", weight="weight", regularise="1/2", rho=2),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """By the two totals; at the data one total over a public number of rows."""
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
        if error != BOOTSTRAP and question.margins is not None:
            if error is not None:
                raise Unsupported(
                    "A list of means has the error of its noise alone: leave error out, or ask for one table.",
                    key="error",
                )
            return plan_means(question)
        if error == BOOTSTRAP:
            return _replicated(question)
        try:
            return _moments(question, has_sampling=wants_sampling(question))
        except TooLarge:
            if error is not None:
                raise
            # Nobody asked for squares: without them there is the error of the noise.
            return _moments(question, has_sampling=False, further=(note("squares_too_large", of=question.of),))

    @staticmethod
    def statistic(question: Question) -> Any:
        """One mean of a public number of rows."""
        low, high = question.bounds.low, question.bounds.high
        return Mean(value_name=question.of, low=low, high=high, size=whole_size(question))

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        """With bootstrap errors it says whether squares are measured."""
        return with_squares(with_tail(keys))


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


def _moments(question: Question, *, has_sampling: bool, further: tuple[str, ...] = ()) -> TablePlan:
    """Two mirrored totals, or one where the count is public, and the squares if they are asked for."""
    bounds, size, query = question.bounds, public_size(question), rows_with(question)
    if size is not None and has_sampling and bounds.low < bounds.high:
        return _together(question, size)
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
        warnings=(CLIPPED, *(further or sampling_notes(question))),
    )


def _together(question: Question, size: int) -> TablePlan:
    """Total and squares as one answer, of which the squares cost nothing: a public number of rows under replace.

    Under (epsilon, delta) the answer is shaped for Laplace and for normal noise, and the better one that can be planned
    is taken.
    """
    budget = question.budget
    shapes = ([] if budget.epsilon is None else [True]) + ([] if budget.rho is budget.delta is None else [False])
    plans, refusal = [], None
    for is_pure in shapes:
        try:
            plans.append(_joint(question, size, is_pure=is_pure))
        except (Unsupported, TooLarge) as error:
            refusal = error
    if not plans:
        assert refusal is not None
        raise refusal
    return min(plans, key=lambda plan: float(plan.preview["std_error"]))


def _joint(question: Question, size: int, *, is_pure: bool) -> TablePlan:
    bounds, query = question.bounds, rows_with(question)
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
