"""One table of counts with additive noise."""

from dalenius.core.neighbours import Scope
from dalenius.measurements.noisy import Noisy
from dalenius.plans.count_route import CountRoute
from dalenius.plans.priced import plan_additive
from dalenius.plans.ruled_noise import noise_of_counts
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.method import example
from dalenius.statistics.count import Count

TABLE = CountRoute(
    place=90,
    is_asked=lambda _: True,
    plan=lambda q: plan_additive(q, Noisy(q.space.name, Count(q.query), noise_of_counts(q)), DEFAULT_MEASURE),
    scopes=(Scope.ALL_DATA, Scope.GIVEN_THE_PUBLIC),
    examples=(example(rows=["sex"], columns=["region"], epsilon=1),),
)
