"""Number of different persons who have a row in each cell, where a person can have several rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from dalenius.core.domain import Domain
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import additive_preview, priced, shown_as
from dalenius.spec.document import Part
from dalenius.spec.method import Words
from dalenius.spec.question import Question
from dalenius.statistics.persons import Persons
from dalenius.translation import translated

__all__ = ["PersonsMethod"]


class PersonsParameters(Part):
    """A count of persons has no keys of its own."""

    section: ClassVar[str] = "[table] of a count of persons"


class PersonsMethod:
    """Signed, unbiased numbers of persons in every declared cell; a person with rows in several cells counts in each of
    them.
    """

    name: ClassVar[str] = "persons"
    takes_of: ClassVar[bool] = False
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = True
    is_offered: ClassVar[bool] = True
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA,)
    Parameters: ClassVar[type[Part]] = PersonsParameters
    words: ClassVar[Mapping[str, Words]] = translated(
        Words(
            title="Number of persons",
            preview="Expect each number to be off by at most ± {error} (95 %).",
            caption="A person with rows in several cells counts in each of them. ± is the margin of error from "
            "privacy noise, {level}.",
        )
    )
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "columns": ["region"], "measure": "persons"},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"rows": ["region"], "measure": "persons", "where": {"sex": ["female"]}},
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
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
        """The table of persons."""
        return Persons(replace(question.query, aggregate=Aggregate.PERSONS))

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """As it is."""
        return "persons", dict(parameters)
