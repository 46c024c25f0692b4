"""Number of records in each cell, of which one person adds at most so many to all cells together."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from dalenius.core.domain import Domain
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.plans.clipped import ClippedParameters, clip_fields, has_several_rows, plan_clipped, written_clip
from dalenius.spec.document import Part
from dalenius.spec.method import FieldKind, FormField, Words
from dalenius.spec.question import Question
from dalenius.statistics.clipped_table import ClippedTable
from dalenius.translation import texts, translated

__all__ = ["ClippedCountMethod"]


class ClippedCountParameters(ClippedParameters):
    """Keys of a clipped count."""

    section: ClassVar[str] = "[table] of a clipped count"


class ClippedCountMethod:
    """Signed counts of every declared cell; a person with more records is scaled down to the bound, in all
    cells alike.
    """

    name: ClassVar[str] = "clipped_count"
    takes_of: ClassVar[bool] = False
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = True
    is_offered: ClassVar[bool] = False
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA,)
    Parameters: ClassVar[type[Part]] = ClippedCountParameters
    form_fields: ClassVar[Mapping[str, FormField]] = clip_fields(
        FormField(kind=FieldKind.NUMBERS, labels=texts("Most records of a person"), is_needed=True, first="1")
    )
    words: ClassVar[Mapping[str, Words]] = translated(
        Words(
            title="Number of records, clipped for each person",
            preview="Expect each number to be off by at most ± {error} (95 %), beside what is clipped.",
            caption="± is the margin of error from privacy noise, {level}; what was clipped is not in it.",
        )
    )
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "columns": ["region"], "measure": "clipped_count", "clip": 2},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {"rows": ["region"], "measure": "clipped_count", "clip": "3/2", "norm": "l2"},
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
        {
            "table": {
                "rows": ["region"],
                "measure": "clipped_count",
                "clip": [1, 2, 4],
                "expected_persons": {"1": 900, "3": 100},
            },
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
        {
            "table": {
                "rows": ["region"],
                "measure": "clipped_count",
                "clip": [1, 2, 4],
                "learn_clip": "1/5",
                "q": "9/10",
            },
            "privacy": {"definition": "pure", "epsilon": 2},
        },
    )

    @staticmethod
    def suits(domain: Domain) -> bool:
        """Where a person can have several rows."""
        return has_several_rows(domain)

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """One table, or the bound first."""
        return plan_clipped(
            question,
            "clipped_count",
            Fraction(1),
            lambda clip: ClippedTable.counts(question.space, question.where, clip),
        )

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """In one spelling."""
        return "clipped_count", written_clip(parameters)
