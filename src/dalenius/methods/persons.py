"""Number of different persons who have a row in each cell, where a person can have several rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dalenius.core.domain import Domain
from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import additive_preview, priced, shown_as
from dalenius.spec.method import Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.persons import Persons
from dalenius.translation import translated

__all__ = ["PersonsMethod"]


class PersonsMethod(Method):
    """Signed, unbiased numbers of persons in every declared cell; a person with rows in several cells counts in each of
    them.
    """

    name: str = "persons"
    takes_of: bool = False
    words: Mapping[str, Words] = translated(
        Words(
            title="Number of persons",
            preview="Expect each number to be off by at most ± {error} (95 %).",
            caption="A person with rows in several cells counts in each of them. ± is the margin of error from "
            "privacy noise, {level}.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], columns=["region"], measure="persons", epsilon=1),
        example(rows=["region"], measure="persons", where={"sex": ["female"]}, rho="1/4"),
    )

    @staticmethod
    def suits(domain: Domain) -> bool:
        """Where rows are of persons: elsewhere every row is one, and a count says the same."""
        return domain.unit_id is not None

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """One noisy number for each cell."""
        name = " x ".join(axis.name for axis in question.space.axes) or "total"
        statistic = PersonsMethod.statistic(question)
        mechanism = question.choose(statistic.sensitivity(question.neighbours))
        measurement = Noisy(name, statistic, mechanism)
        return priced(
            question,
            (measurement,),
            shown_as("persons"),
            mechanism=mechanism.name,
            strategy="table",
            preview=additive_preview(question, measurement.law),
            refusal=f"{mechanism.name} noise does not fit {question.budget.definition!r} at this budget.",
        )

    @staticmethod
    def statistic(question: Question) -> Any:
        return Persons(replace(question.query, aggregate=Aggregate.PERSONS))
