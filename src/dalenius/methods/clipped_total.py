"""Total of a numeric variable in each cell, to which one person adds at most so much in all cells together."""

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

__all__ = ["ClippedTotalMethod"]


class ClippedTotalMethod(Method):
    """Clamped sums of every declared cell; a person who adds more than the bound is scaled down to it, in all cells
    alike.
    """

    name: str = "clipped_total"
    is_offered: bool = False
    Parameters: type[Part] = ClippedParameters
    form_fields: Mapping[str, FormField] = clip_fields(
        FormField(kind=FieldKind.NUMBERS, labels=texts("Most of a person"), is_needed=True, part=Fraction(1))
    )
    words: Mapping[str, Words] = translated(
        Words(
            title="Total of {of}, clipped for each person",
            preview="Expect each total to be off by at most ± {error} (95 %), beside what is clipped.",
            caption="± is the margin of error from privacy noise, {level}; what was clipped is not in it.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="clipped_total", of="income", clip=30, epsilon=1),
        example(
            rows=["region"],
            measure="clipped_total",
            of="income",
            clip=[5, 10, 40],
            norm="l2",
            learn_clip="1/4",
            q="4/5",
            rho="1/4",
        ),
        example(
            rows=["sex"],
            measure="clipped_total",
            of="income",
            clip=[10, 20],
            expected_persons={"5": 300, "15": 40},
            epsilon=1,
        ),
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
            "clipped_total",
            question.bounds.step,
            lambda clip: ClippedTable.totals(question.domain, question.of, question.space, question.where, clip),
        )

    @staticmethod
    def canonical_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
        return canonical_clip(keys)
