"""Number of records in each cell, of which one person adds at most so many to all cells together."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.core.domain import Domain
from dalenius.core.plan import TablePlan
from dalenius.plans.clipped import ClippedParameters, canonical_clip, clip_fields, has_several_rows, plan_clipped
from dalenius.spec.document import Part
from dalenius.spec.method import FieldKind, FormField, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.clipped_table import ClippedTable
from dalenius.translation import texts, translated

__all__ = ["ClippedCountMethod"]


class ClippedCountMethod(Method):
    """Signed counts of every declared cell; a person with more records is scaled down to the bound, in all
    cells alike.
    """

    name: str = "clipped_count"
    takes_of: bool = False
    is_offered: bool = False
    Parameters: type[Part] = ClippedParameters
    form_fields: Mapping[str, FormField] = clip_fields(
        FormField(kind=FieldKind.NUMBERS, labels=texts("Most records of a person"), is_needed=True, first="1")
    )
    words: Mapping[str, Words] = translated(
        Words(
            title="Number of records, clipped for each person",
            preview="Expect each number to be off by at most ± {error} (95 %), beside what is clipped.",
            caption="± is the margin of error from privacy noise, {level}; what was clipped is not in it.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], columns=["region"], measure="clipped_count", clip=2, epsilon=1),
        example(rows=["region"], measure="clipped_count", clip="3/2", norm="l2", rho="1/4"),
        example(
            rows=["region"], measure="clipped_count", clip=[1, 2, 4], expected_persons={"1": 900, "3": 100}, rho="1/4"
        ),
        example(rows=["region"], measure="clipped_count", clip=[1, 2, 4], learn_clip="1/5", q="9/10", epsilon=2),
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
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        return canonical_clip(keys)
