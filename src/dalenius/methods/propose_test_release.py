"""A median, a quantile or the distance of the quartiles by propose-test-release: exact plus noise at a proposed bound,
or no reply.

Usually worse than selection (`measure = "quantiles"`), which needs no bound and always answers.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from pydantic import Field

from dalenius.core.plan import TablePlan
from dalenius.core.rationals import rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.propose_test_release import DistanceStatistic, ProposeTestRelease
from dalenius.methods._cascade import plan_cascade, steps_of
from dalenius.plans.priced import additive_preview, additive_table, limits_of, priced
from dalenius.spec.document import Exact, Part
from dalenius.spec.method import FieldKind, FormField, Method, Words, exact_texts, example
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.interquartile import Interquartile
from dalenius.statistics.quantile import Quantile
from dalenius.translation import texts, translated

__all__ = ["ProposeTestReleaseMethod"]


class ProposeTestReleaseParameters(Part):
    """Keys of propose-test-release: what is estimated, and the bound that is proposed, or several that are tried in
    turn.
    """

    estimate: Literal["median", "quantile", "interquartile"] = "median"
    q: Exact | None = None
    bound: Exact | None = None
    bounds: tuple[Exact, ...] = Field(
        default=(), description="Rising bounds in place of one: the first that passes its test gives the noise."
    )


class ProposeTestReleaseMethod(Method):
    """An order statistic with noise at a proposed bound, where a private test allows it."""

    name: str = "propose_test_release"
    is_offered: bool = False
    is_one_number: bool = True
    Parameters: type[Part] = ProposeTestReleaseParameters
    form_fields: Mapping[str, FormField] = {
        "estimate": FormField(
            kind=FieldKind.CHOICE,
            labels=texts("Which"),
            usual="median",
            first="median",
            choices={
                "median": texts("median"),
                "interquartile": texts("distance of the quartiles"),
                "quantile": texts("another quantile"),
            },
        ),
        "q": FormField(kind=FieldKind.NUMBER, labels=texts("Level of the quantile")),
        "bound": FormField(kind=FieldKind.NUMBER, labels=texts("Proposed bound"), is_needed=True, part=Fraction(1, 20)),
        "bounds": FormField(
            kind=FieldKind.NUMBERS, labels=texts("or several bounds, tried from the smallest on"), in_place_of="bound"
        ),
    }
    words: Mapping[str, Words] = translated(
        Words(
            title="Order statistic of {of}, after a test",
            preview="If there is a reply, expect it to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}, at the bound that was proposed.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(measure="propose_test_release", of="income", bound=20, epsilon=40, delta="1e-3"),
        example(
            measure="propose_test_release", of="income", estimate="interquartile", bound=38, epsilon=40, delta="1e-3"
        ),
        example(measure="propose_test_release", of="income", bounds=[5, 20, 38], epsilon=40, delta="1e-3"),
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """Half of epsilon for the test, half for the answer, and delta for the test."""
        estimate = str(question.parameter("estimate", "median"))
        statistic, neighbours, budget = _statistic(question, estimate), question.neighbours, question.budget
        if question.space.axes:
            raise Unsupported("Propose-test-release is one number of one list of records; use where.", key="rows")
        if budget.epsilon is None or not budget.delta:
            raise ParameterError(
                'Propose-test-release needs epsilon and delta: definition = "approximate".', name="delta"
            )
        if question.parameter("bounds"):
            if question.parameter("bound") is not None:
                raise ParameterError("Write bound for one bound or bounds for several, not both.", name="bounds")
            return plan_cascade(question, estimate, statistic, budget.delta)
        half = budget.epsilon / 2
        step = ProposeTestRelease(
            name=f"{estimate} of {question.of}",
            statistic=statistic,
            bound=_bound(question),
            test=half,
            epsilon=half,
            delta=budget.delta,
            neighbours=neighbours,
            step=question.bounds.step,
        )
        return priced(
            question,
            (step,),
            _shown,
            mechanism=step.mechanism.name,
            strategy="propose_test_release",
            limits=limits_of(question, is_difference=estimate == "interquartile"),
            preview=additive_preview(question, step.law) | {"threshold": step.threshold, "sure_from": step.sure},
            warnings=(note("no_reply", distance=step.sure),),
            refusal=f"A test and an answer do not fit {budget.definition!r}; use approximate.",
        )

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        return exact_texts(keys, "q", "bound", "bounds")


def _statistic(question: Question, estimate: str) -> DistanceStatistic:
    q = question.parameter("q")
    if (q is None) == (estimate == "quantile"):
        raise ParameterError('q goes with estimate = "quantile", and only with it.', name="q")
    if estimate == "interquartile":
        return Interquartile.of(question.domain, question.of, question.where)
    share = Fraction(1, 2) if q is None else rational(q, "q")
    return Quantile.of(question.domain, question.of, share, question.where)


def _bound(question: Question) -> int:
    """The proposed bound in declared steps, rounded up."""
    named = question.parameter("bound")
    if named is None:
        raise ParameterError(
            "Propose-test-release needs bound in [table]: by how much one record may move the answer. It is proposed "
            "without looking at the data.",
            name="bound",
        )
    return steps_of(question, named, "bound")


def _shown(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
    return tuple(additive_table(block, "propose_test_release") for block in blocks)
