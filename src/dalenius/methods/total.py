"""Total of a numeric variable in each cell, under declared, learned or bootstrap bounds, weighted, or with the errors
of a private bootstrap.
"""

from collections.abc import Mapping
from typing import Any, Literal

from dalenius.algebra.amounts import Amounts
from dalenius.algebra.estimates import BOOTSTRAP
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.errors import Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.methods._at_the_data import plan_total_at_the_data
from dalenius.methods._bootstrap_total import plan_bootstrap_total
from dalenius.methods._learned_bounds import plan_learned_bounds
from dalenius.methods._public import refuse_public_alone
from dalenius.methods._weighted_estimate import plan_weighted_total
from dalenius.methods.margins.plan import plan_margins
from dalenius.methods.margins.weighted import plan_weighted_totals
from dalenius.plans.moments import SAMPLING, public_size
from dalenius.plans.priced import additive_preview, priced, shown_as
from dalenius.plans.replicates import Resampled, plan_replicates, with_squares
from dalenius.spec.document import Exact, Part
from dalenius.spec.method import Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.total import Total
from dalenius.translation import translated

__all__ = ["TotalMethod"]


class TotalParameters(Part):
    """Keys of a total."""

    learn_bounds: Exact | None = None
    option: str | None = None
    membership: str | None = None
    declared: str | tuple[str, ...] = ()
    error: Literal["noise", "sampling", "bootstrap"] | None = None
    replicates: int | None = None
    squares: bool | None = None


class TotalMethod(Method):
    """The clamped sum in declared steps plus noise: unbiased for the total of clamped values."""

    name: str = "total"
    takes_weight: bool = True
    scopes: tuple[Scope, ...] = tuple(Scope)
    form_errors: tuple[str, ...] = (BOOTSTRAP,)
    Parameters: type[Part] = TotalParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Total of {of}",
            preview="Expect each total to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="total", of="income", epsilon=1),
        example(rows=["sex"], measure="total", of="income", learn_bounds="1/5", epsilon=1),
        example(
            rows=["sex"],
            columns=["region"],
            measure="total",
            of="income",
            margins=[["sex", "region"], ["region"], []],
            rho="1/4",
        ),
        example(rows=["sex"], measure="total", of="income", definition="bootstrap", epsilon=1),
        example(measure="total", of="income", definition="individual", epsilon=1),
        example(
            rows=["sex"], measure="total", of="income", error="bootstrap", replicates=5, rho="1/4", delta="1/1000000"
        ),
        example(rows=["sex"], measure="total", of="income", weight="weight", rho=2),
        example(rows=["sex"], measure="total", of="income", weight="weight", error="noise", margins="all", rho=2),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """One noisy total for each cell."""
        if question.scope is Scope.ACTUAL_DATA:
            return plan_total_at_the_data(question)
        if question.scope is Scope.OBSERVED_ROWS:
            return plan_bootstrap_total(question)
        error = question.parameter("error")
        if error != BOOTSTRAP and question.weight is not None:
            is_listed = question.margins is not None or question.strategy is not None
            return plan_weighted_totals(question) if is_listed else plan_weighted_total(question)
        if error not in (None, BOOTSTRAP):
            raise Unsupported(
                f"error = {error!r} is for weighted totals; without a weight a total is of the records on file, and "
                "error ="
                ' "bootstrap" gives the error of sampling.',
                key="error",
            )
        if error is not None:
            return _replicated(question)
        if question.scope is Scope.ALL_DATA and question.parameter("learn_bounds") is not None:
            return plan_learned_bounds(question)
        if question.scope is Scope.ALL_DATA and (question.margins is not None or question.strategy is not None):
            return plan_margins(question, Amounts.of(question.of, question.bounds))
        statistic = MagnitudeTable.of(question.domain, question.of, question.space, question.where)
        mechanism = question.choose(refuse_public_alone(question, statistic.sensitivity(question.neighbours)))
        measurement = Noisy(f"total of {question.of}", statistic, mechanism, question.bounds.step)
        return priced(
            question,
            (measurement,),
            shown_as("total"),
            mechanism=mechanism.name,
            strategy="table",
            preview=additive_preview(question, measurement.law),
        )

    @staticmethod
    def statistic(question: Question) -> Any:
        """The table of totals, or the one total."""
        if question.space.axes:
            return MagnitudeTable.of(question.domain, question.of, question.space, question.where)
        return Total.of(question.domain, question.of, question.where)

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        """With bootstrap errors it says whether squares are measured."""
        return with_squares(keys)

    @staticmethod
    def keys_with_weight(keys: Mapping[str, Any]) -> dict[str, Any]:
        """With the error of sampling, unless another one is asked for."""
        return {"error": SAMPLING, **keys}


def _replicated(question: Question) -> TablePlan:
    """Replicates of the total, centred where the number of rows is public; a random number of rows is part of the
    error.
    """
    size, step = public_size(question), question.bounds.step
    return plan_replicates(
        question,
        "total",
        f"total of {question.of}",
        Resampled.of_values(question, is_centred=size is not None),
        size=size,
        is_quotient=False,
        scale=step,
        limits=("-inf", "inf"),
        moments=None,
    )
