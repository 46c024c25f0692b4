"""Totals whose noise follows the largest values of the data, under bootstrap privacy."""

from fractions import Fraction

from dalenius.core.conversions import rho_to_delta
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.core.search import narrow
from dalenius.errors import Unsupported
from dalenius.measurements.bootstrap_totals import BootstrapTotals, Option
from dalenius.plans.data_dependent import acknowledged, choice, floor, plan_withheld
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.magnitude_table import MagnitudeTable, Membership

PER_CELL, PUBLIC_MEMBERSHIP = "bootstrap_per_cell", "public_membership"


def plan_bootstrap_total(question: Question) -> TablePlan:
    """One total for each cell; one scale or one per cell and public membership are the custodian's."""
    option = Option.PER_CELL if PER_CELL in question.policy.allow.acknowledge else Option.ONE
    membership = choice(Membership, question.parameter("membership", Membership.PRIVATE), "membership")
    if membership is Membership.PUBLIC:
        acknowledged(question, PUBLIC_MEMBERSHIP, "Public membership of cells")
    budget = question.budget
    pure = budget.epsilon if budget.rho is None and budget.delta is None else None
    measurement = BootstrapTotals(
        name=f"total of {question.of}",
        statistic=MagnitudeTable.of(question.domain, question.of, question.space, question.where),
        neighbours=question.neighbours,
        epsilon=pure,
        rho=None if pure is not None else _rho(question),
        option=option,
        membership=membership,
        floor=floor(question),
        declared=_declared(question),
    )
    further = (note("membership"),) if membership is Membership.PUBLIC else ()
    return plan_withheld(question, measurement, "total", question.bounds.step, further)


def _rho(question: Question) -> Fraction:
    """The largest rho (a multiple of 1/1000 of a coarse bound) within the budget."""
    budget = question.budget
    if budget.rho is not None:
        return budget.rho
    epsilon, delta = budget.epsilon, budget.delta
    assert epsilon is not None and delta is not None
    rho = narrow(lambda rho: rho_to_delta(rho, epsilon) <= delta, Fraction(0), epsilon, halvings=20).inside
    if not rho:
        raise Unsupported("No normal noise fits so small an epsilon and delta.")
    return rho


def _declared(question: Question) -> tuple[int, ...]:
    values = question.parameter("declared", ())
    texts = values if isinstance(values, tuple) else (str(values),)
    return tuple(round(rational(text, "declared") / question.bounds.step) for text in texts)
