"""Total of a numeric variable in each cell, under declared, learned or bootstrap bounds, weighted, or with the errors
of sampling or of a private bootstrap.
"""

from dalenius.algebra.amounts import Amounts
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.errors import Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.methods._plan import EstimateMethod
from dalenius.plans.at_the_data import plan_total_at_the_data
from dalenius.plans.bootstrap_total import plan_bootstrap_total
from dalenius.plans.learned_totals import plan_learned_bounds
from dalenius.plans.margins.plan import plan_margins
from dalenius.plans.priced import additive_preview, priced, refuse_public_alone, shown_as
from dalenius.plans.sum_parts import WIDEST
from dalenius.spec.document import Part, usual
from dalenius.spec.method import Words, example
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.translation import translated


class TotalKeys(Part):
    """Keys of a total: how it is protected where the guarantee is made for the observed rows."""

    membership: str | None = usual(None, "Whether who belongs to which cell is taken as public, for the observed rows.")
    declared: str | tuple[str, ...] = usual((), "Further values that a person may have, beside the observed ones.")


def _route(question: Question) -> TablePlan | None:
    """One noisy total for each cell: unbiased for the total of clamped values. None with a weight or another error."""
    if question.scope is Scope.ACTUAL_DATA:
        return plan_total_at_the_data(question)
    if question.scope is Scope.OBSERVED_ROWS:
        return plan_bootstrap_total(question)
    if question.parameter("error") is not None or question.weight is not None:
        return None
    if question.scope is Scope.ALL_DATA and question.parameter("learn") is not None:
        return plan_learned_bounds(question)
    if question.scope is Scope.ALL_DATA and (question.margins is not None or question.strategy is not None):
        return plan_margins(question, Amounts.of(question.of, question.bounds))
    statistic = _statistic(question)
    sensitivity = refuse_public_alone(question, statistic.sensitivity(question.neighbours))
    try:
        mechanism = question.choose(sensitivity)
    except Unsupported:
        if question.scope is not Scope.ALL_DATA or sensitivity.l1 < WIDEST:
            raise
        # A step that is too fine for the noise: the sum is measured in coarser parts, as those of estimates are.
        return None
    measurement = Noisy(f"total of {question.of}", statistic, mechanism, question.bounds.step)
    return priced(
        question,
        (measurement,),
        shown_as("total"),
        mechanism=mechanism.name,
        strategy="table",
        preview=additive_preview(question, measurement.law),
    )


def _statistic(question: Question) -> MagnitudeTable:
    return MagnitudeTable.of(question.domain, question.of, question.space, question.where)


TOTAL = EstimateMethod(
    name="total",
    route=_route,
    # With a weight the error of sampling, unless another one is asked for.
    keys_with_weight=lambda keys: {"error": "sampling", **keys},
    scopes=tuple(Scope),
    keys=(TotalKeys,),
    statistic=_statistic,
    form_errors=("bootstrap",),
    # A plain total has the error of the noise.
    usual_error="",
    words=translated(
        Words(
            title="Total of {of}",
            preview="Expect each total to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="total", of="income", epsilon=1),
        example(rows=["sex"], measure="total", of="income", learn="1/5", epsilon=1),
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
    ),
)
