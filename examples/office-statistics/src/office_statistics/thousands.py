"""Number of records in each cell, in thousands."""

from fractions import Fraction

from dalenius.core.plan import TablePlan
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import additive_preview, priced, shown_as
from dalenius.spec.method import Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.count import Count


def _plan(question: Question) -> TablePlan:
    """A noisy count of each cell, in steps of a thousandth."""
    count = Count(question.query)
    mechanism = question.choose(count.sensitivity(question.neighbours))
    measurement = Noisy("thousands", count, mechanism, Fraction(1, 1000))
    return priced(
        question,
        (measurement,),
        shown_as("thousands"),
        mechanism=mechanism.name,
        strategy="table",
        preview=additive_preview(question, measurement.law),
    )


THOUSANDS = Method(
    name="thousands",
    takes_of=False,
    plan=_plan,
    words={
        "en": Words(
            title="Thousands of records",
            preview="Expect each number to be off by at most ± {error} thousand (95 %).",
            caption="± is the margin of error from privacy noise, {level}.",
        )
    },
    examples=(example(rows=["sex"], measure="thousands", epsilon=1),),
)
