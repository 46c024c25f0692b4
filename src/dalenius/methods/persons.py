"""Number of different persons who have a row in each cell, where a person can have several rows."""

from dataclasses import replace

from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import plan_additive
from dalenius.spec.method import Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.persons import Persons
from dalenius.translation import translated


def _statistic(question: Question) -> Persons:
    return Persons(replace(question.query, aggregate=Aggregate.PERSONS))


def _plan(question: Question) -> TablePlan:
    """One noisy number for each cell; a person with rows in several cells counts in each of them."""
    statistic = _statistic(question)
    mechanism = question.choose(statistic.sensitivity(question.neighbours))
    return plan_additive(question, Noisy(question.space.name, statistic, mechanism), "persons")


PERSONS = Method(
    name="persons",
    plan=_plan,
    takes_of=False,
    words=translated(
        Words(
            title="Number of persons",
            preview="Expect each number to be off by at most ± {error} (95 %).",
            caption="A person with rows in several cells counts in each of them. ± is the margin of error from "
            "privacy noise, {level}.",
        )
    ),
    examples=(
        example(rows=["sex"], columns=["region"], measure="persons", epsilon=1),
        example(rows=["region"], measure="persons", where={"sex": ["female"]}, rho="1/4"),
    ),
    # Elsewhere every row is a person, and a count says the same.
    suits=lambda domain: domain.unit_id is not None,
    statistic=_statistic,
)
