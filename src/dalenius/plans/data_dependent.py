"""Plans whose noise follows the data: bootstrap and individual privacy, charged to a separate account.

Everything is refused unless the policy names it in `acknowledge`, and everything that could be chosen by looking at the
data is named beforehand:

acknowledge               opens bootstrap                 the definition; totals with one scale for the table,
membership private bootstrap_per_cell        a scale of its own for each cell (needs bootstrap) public_membership
"everybody knows who is in which cell" (needs bootstrap) individual                the definition; order statistics and
range queries clamp_to_the_data         range queries cut to the exact count plus or minus one (needs individual)

`[floors]` of the policy gives the least sensitivity, in units of the data, by variable or by definition; there must
be one. Nothing a plan says depends on the data.
"""

from enum import StrEnum
from fractions import Fraction
from typing import TypeVar

from dalenius.core.contracts import Measurement
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.errors import NotAllowed, ParameterError, TooLarge, UnknownName, Unsupported
from dalenius.measurements.range_query import ACKNOWLEDGEMENT, Clamp, RangeQuery
from dalenius.plans.priced import priced, selected
from dalenius.spec.notes import note
from dalenius.spec.question import Question

MOST_CELLS = 100_000
E = TypeVar("E", bound=StrEnum)


def choice(kind: type[E], value: object, name: str) -> E:
    """One member of a closed list, or a refusal that names them."""
    if str(value) not in [str(member) for member in kind]:
        raise UnknownName.among(name, str(value), [str(member) for member in kind])
    return kind(str(value))


def acknowledged(question: Question, name: str, what: str) -> None:
    """Refuse what the custodian did not name."""
    if name not in question.policy.allow.acknowledge:
        raise NotAllowed(
            f"{what} must be named by the custodian: acknowledge = [..., {name!r}] in the policy.", acknowledge=name
        )


def floor(question: Question) -> int:
    """The declared least sensitivity, in steps, rounded up."""
    floors, name = question.policy.floors, question.definition.name
    least = floors.get(question.of, floors.get(name))
    if least is None:
        raise NotAllowed(
            f"The policy must declare a floor for {question.of!r} (or for {name!r}) in [floors]: a scale of zero would"
            " publish the truth, and refusing it would say so.",
            variable=question.of,
        )
    return max(1, -(-Fraction(least) // question.bounds.step))


def epsilon_alone(question: Question) -> Fraction:
    """The epsilon of a step that takes nothing else."""
    budget = question.budget
    if budget.epsilon is None or budget.delta is not None:
        raise ParameterError("This statistic needs epsilon alone.", name="epsilon")
    return budget.epsilon


def plan_withheld(
    question: Question,
    measurement: Measurement,
    measure: str,
    step: Fraction,
    further: tuple[str, ...] = (),
    limits: tuple[float, float] | None = None,
) -> TablePlan:
    """One measurement whose law is withheld, with the warnings of its definition."""
    cells = question.space.size
    if cells > MOST_CELLS:
        raise TooLarge(
            f"The table would have {cells:,} cells; data-dependent noise is drawn for at most {MOST_CELLS:,}.",
            received=cells,
            limit=MOST_CELLS,
        )
    return priced(
        question,
        (measurement,),
        selected(measure, step, is_unbiased=True),
        mechanism=type(measurement).__module__.rpartition(".")[2],
        strategy=question.definition.name,
        preview={"cells": cells, "law": {"kind": "withheld"}, "account": question.definition.account},
        warnings=further,
        limits=limits,
        refusal=f"This request needs epsilon, or rho, under {question.definition.name!r}.",
    )


def plan_one_count(question: Question, query: TableQuery | None = None) -> TablePlan:
    """One count under individual privacy; refused for tables, which need no data-dependent noise."""
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
