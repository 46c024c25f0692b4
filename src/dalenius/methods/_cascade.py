"""Plans of propose-test-release with several bounds: one step, priced as a whole, and the bound that passed beside its
answer.
"""

from fractions import Fraction

import numpy as np

from dalenius.core.plan import TablePlan
from dalenius.core.rationals import plain, rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError
from dalenius.measurements.cascade import Cascade, DistanceStatistic
from dalenius.plans.priced import additive_preview, additive_table, limits_of, priced
from dalenius.spec.notes import note
from dalenius.spec.question import Question


def plan_cascade(question: Question, estimate: str, statistic: DistanceStatistic, delta: Fraction) -> TablePlan:
    """Half of epsilon for all tests, half for the answer, and delta for the tests."""
    assert question.budget.epsilon is not None
    half = question.budget.epsilon / 2
    step = Cascade(
        name=f"{estimate} of {question.of}",
        statistic=statistic,
        bounds=tuple(steps_of(question, bound, "bounds") for bound in question.parameter("bounds")),
        test=half,
        epsilon=half,
        delta=delta,
        neighbours=question.neighbours,
        step=question.bounds.step,
    )
    written = [plain(bound * step.step) for bound in step.bounds]
    margins = [law.half_width(0.95) * float(law.step) for law in step.laws]
    distances = ", ".join(f"{bound}: {sure}" for bound, sure in zip(written, step.sure, strict=True))
    return priced(
        question,
        (step,),
        _shown,
        mechanism=step.mechanisms[-1].name,
        strategy="cascade",
        limits=limits_of(question, is_difference=estimate == "interquartile"),
        # The margin of error that stands first is that of the largest bound, which is the widest.
        preview=additive_preview(question, step.laws[-1])
        | {
            "bounds": written,
            "half_widths_95": margins,
            "thresholds": list(step.thresholds),
            "sure_from": list(step.sure),
        },
        warnings=(note("cascade", distances=distances),),
        refusal=f"Tests and an answer do not fit {question.budget.definition!r}; use approximate.",
    )


def steps_of(question: Question, named: object, key: str) -> int:
    """A proposed bound in declared steps, rounded up."""
    bounds = question.bounds
    steps = -(-rational(named, key) // bounds.step)
    if not 1 <= steps < bounds.high - bounds.low:
        raise ParameterError(
            f"{key} must be positive and smaller than the declared range of {question.of!r}; received {named}.",
            name=key,
        )
    return int(steps)


def _shown(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
    """The answer, and the bound that passed."""
    if not blocks:
        return ()
    (block,) = blocks
    bound = float(Fraction(str(block.parameters["bound"])))
    return (
        additive_table(block, "propose_test_release"),
        Table(
            name=f"bound of {block.name}",
            space=block.space,
            values=np.array([bound]),
            variance=np.full(1, np.nan),
            measure="bound",
            is_unbiased=False,
        ),
    )
