"""One table of counts whose noise is a function of the population's secret, so that the same list comes out the
same.
"""

from typing import Literal

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.measurements.keyed_list import KeyedList
from dalenius.plans.count_route import CountRoute
from dalenius.plans.priced import plan_additive
from dalenius.plans.ruled_noise import noise_of_counts
from dalenius.spec.document import DEFAULT_MEASURE, Part, usual
from dalenius.spec.method import example
from dalenius.spec.notes import note
from dalenius.spec.question import Question


class KeyedKeys(Part):
    keyed: Literal[True] | None = usual(
        None, "Whether noise is made from a secret key, so that it is the same whenever the list is asked for."
    )


def _plan(question: Question) -> TablePlan:
    step = KeyedList(question.space.name, question.query, noise_of_counts(question), question.domain)
    return plan_additive(question, step, DEFAULT_MEASURE, strategy="keyed_list", warnings=(note("keyed_list"),))


KEYED = CountRoute(
    place=80,
    is_asked=lambda question: question.parameter("keyed") is not None,
    plan=_plan,
    scopes=(Scope.ALL_DATA, Scope.GIVEN_THE_PUBLIC),
    keys=KeyedKeys,
    examples=(example(rows=["sex"], columns=["region"], keyed=True, epsilon=1),),
)
