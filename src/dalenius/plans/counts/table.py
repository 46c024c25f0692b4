"""One table of counts with additive noise."""

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.measurements.noisy import Noisy
from dalenius.plans.count_route import CountRoute
from dalenius.plans.priced import plan_additive
from dalenius.plans.ruled_noise import noise_of_counts
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.method import example
from dalenius.spec.question import Question
from dalenius.statistics.count import Count


def _plan(question: Question) -> TablePlan:
    """A signed, unbiased count of every cell."""
    step = Noisy(question.space.name, Count(question.query), noise_of_counts(question))
    return plan_additive(question, step, DEFAULT_MEASURE)


TABLE = CountRoute(
    place=90,
    is_asked=lambda _: True,
    plan=_plan,
    scopes=(Scope.ALL_DATA, Scope.GIVEN_THE_PUBLIC),
    examples=(example(rows=["sex"], columns=["region"], epsilon=1),),
)
