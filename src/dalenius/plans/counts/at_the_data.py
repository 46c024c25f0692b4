"""One count under individual privacy: the sensitivity is one at every data set, so the noise is as under pure."""

from dalenius.core.neighbours import Scope
from dalenius.plans.count_route import CountRoute
from dalenius.plans.data_dependent import plan_one_count
from dalenius.spec.keys import ClampKey
from dalenius.spec.method import example

AT_THE_DATA = CountRoute(
    place=20,
    is_asked=lambda _: True,
    plan=plan_one_count,
    scopes=(Scope.ACTUAL_DATA,),
    keys=ClampKey,
    examples=(example(where={"age": {"at_least": 18, "at_most": 65}}, definition="individual", epsilon=1),),
)
