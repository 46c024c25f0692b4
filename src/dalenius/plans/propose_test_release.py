"""Plans of propose-test-release: one proposed bound, or several that are tried in turn; one step, priced as a whole."""

from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.plan import TablePlan
from dalenius.core.rationals import plain, rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.cascade import Cascade, DistanceStatistic
from dalenius.measurements.propose_test_release import ProposeTestRelease
from dalenius.plans.priced import additive_preview, additive_table, limits_of, priced, shown_as
from dalenius.spec.keys import one_share
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.interquartile import Interquartile
from dalenius.statistics.quantile import Quantile

_MEASURE = "propose_test_release"


def plan_propose_test_release(question: Question) -> TablePlan:
    """Half of epsilon for the tests, half for the answer, and delta for the tests."""
    estimate, budget = str(question.parameter("estimate", "median")), question.budget
    statistic = _statistic(question, estimate)
    if question.space.axes:
        raise Unsupported("Propose-test-release is one number of one list of records; use where.", key="rows")
    if budget.epsilon is None or not budget.delta:
        raise ParameterError('Propose-test-release needs epsilon and delta: definition = "approximate".', name="delta")
    shared: dict[str, Any] = {
        "name": f"{estimate} of {question.of}",
        "statistic": statistic,
        "test": budget.epsilon / 2,
        "epsilon": budget.epsilon / 2,
        "delta": budget.delta,
        "neighbours": question.neighbours,
        "step": question.bounds.step,
    }
    limits = limits_of(question, is_difference=estimate == "interquartile")
    bounds = question.parameter("bounds")
    if not bounds:
        raise ParameterError(
            "Propose-test-release needs bounds in [table]: by how much one record may move the answer, or several such "
            "numbers. They are proposed without looking at the data.",
            name="bounds",
        )
    if isinstance(bounds, list | tuple):
        return _plan_cascade(question, Cascade(bounds=_steps(question, *bounds), **shared), limits)
    step = ProposeTestRelease(bound=_steps(question, bounds)[0], **shared)
    return priced(
        question,
        (step,),
        shown_as(_MEASURE),
        mechanism=step.mechanism.name,
        strategy="propose_test_release",
        limits=limits,
        preview=additive_preview(question, step.law) | {"threshold": step.threshold, "sure_from": step.sure},
        warnings=(note("no_reply", distance=step.sure),),
        refusal=f"A test and an answer do not fit {budget.definition!r}; use approximate.",
    )


def _plan_cascade(question: Question, step: Cascade, limits: tuple[float, float]) -> TablePlan:
    """The bound that passed stands beside the answer."""
    written = [plain(bound * step.step) for bound in step.bounds]
    distances = ", ".join(f"{bound}: {sure}" for bound, sure in zip(written, step.sure, strict=True))
    return priced(
        question,
        (step,),
        _with_bound,
        mechanism=step.mechanisms[-1].name,
        strategy="cascade",
        limits=limits,
        # The margin of error that stands first is that of the largest bound, which is the widest.
        preview=additive_preview(question, step.laws[-1])
        | {
            "bounds": written,
            "half_widths_95": [law.half_width(0.95) * float(law.step) for law in step.laws],
            "thresholds": list(step.thresholds),
            "sure_from": list(step.sure),
        },
        warnings=(note("cascade", distances=distances),),
        refusal=f"Tests and an answer do not fit {question.budget.definition!r}; use approximate.",
    )


def _statistic(question: Question, estimate: str) -> DistanceStatistic:
    q = question.parameter("q")
    if (q is None) == (estimate == "quantile"):
        raise ParameterError('q goes with estimate = "quantile", and only with it.', name="q")
    if estimate == "interquartile":
        return Interquartile.of(question.domain, question.of, question.where)
    return Quantile.of(question.domain, question.of, question.where, q=one_share(q))


def _steps(question: Question, *named: object) -> tuple[int, ...]:
    """Proposed bounds in declared steps, rounded up."""
    bounds = question.bounds
    steps = [int(-(-rational(one, "bounds") // bounds.step)) for one in named]
    for one, each in zip(named, steps, strict=True):
        if not 1 <= each < bounds.high - bounds.low:
            raise ParameterError(
                f"bounds must be positive and smaller than the declared range of {question.of!r}; received {one}.",
                name="bounds",
            )
    return tuple(steps)


def _with_bound(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
    """The answer, and the bound that passed; nothing where none did."""
    return tuple(
        table
        for block in blocks
        for table in (
            additive_table(block, _MEASURE),
            Table(
                name=f"bound of {block.name}",
                space=block.space,
                values=np.array([float(Fraction(str(block.parameters["bound"])))]),
                variance=np.full(1, np.nan),
                measure="bound",
                is_unbiased=False,
            ),
        )
    )
