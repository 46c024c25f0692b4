"""One count under individual privacy: the sensitivity is one at every data set, so the noise is as under pure."""

from fractions import Fraction

from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.range_query import ACKNOWLEDGEMENT, Clamp, RangeQuery
from dalenius.methods._data_dependent import acknowledged, choice, plan_withheld
from dalenius.spec.notes import note
from dalenius.spec.question import Question


def plan_range_count(question: Question, query: TableQuery | None = None) -> TablePlan:
    """Refused for tables: counts need no data-dependent noise."""
    if question.space.size != 1:
        raise Unsupported(
            "Counts need no data-dependent noise: their sensitivity is known. Ask for them under differential privacy."
        )
    budget = question.budget
    if budget.epsilon is None or budget.delta is not None:
        raise ParameterError("A range query needs epsilon alone.", name="epsilon")
    clamp = choice(Clamp, question.parameter("clamp", Clamp.NONE), "clamp")
    if clamp is Clamp.DATA:
        acknowledged(question, ACKNOWLEDGEMENT, "The clamp to the data")
    measurement = RangeQuery(
        name="count",
        query=query or question.query,
        epsilon=budget.epsilon,
        clamp=clamp,
        size=question.domain.public_size,
        acknowledged=question.policy.allow.acknowledge,
    )
    further = (note("clamp"),) if clamp is Clamp.DATA else ()
    return plan_withheld(question, measurement, "count", Fraction(1), further)
