"""Total of a numeric variable in each cell, to which one person adds at most so much in all cells together."""

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

__all__ = ["ClippedTotalMethod"]


class ClippedTotalParameters(ClippedParameters):
    """Keys of a clipped total."""

    section: ClassVar[str] = "[table] of a clipped total"


class ClippedTotalMethod:
    """Clamped sums of every declared cell; a person who adds more than the bound is scaled down to it, in all cells
    alike.
    """

    name: ClassVar[str] = "clipped_total"
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = True
    is_offered: ClassVar[bool] = False
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA,)
    Parameters: ClassVar[type[Part]] = ClippedTotalParameters
    form_fields: ClassVar[Mapping[str, FormField]] = clip_fields(
        FormField(kind=FieldKind.NUMBERS, labels=texts("Most of a person"), is_needed=True, part=Fraction(1))
    )
    words: ClassVar[Mapping[str, Words]] = translated(
        Words(
            title="Total of {of}, clipped for each person",
            preview="Expect each total to be off by at most ± {error} (95 %), beside what is clipped.",
            caption="± is the margin of error from privacy noise, {level}; what was clipped is not in it.",
        )
    )
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "measure": "clipped_total", "of": "income", "clip": 30},
            "privacy": {"definition": "pure", "epsilon": 1},
        },
        {
            "table": {
                "rows": ["region"],
                "measure": "clipped_total",
                "of": "income",
                "clip": [5, 10, 40],
                "norm": "l2",
                "learn_clip": "1/4",
                "q": "4/5",
            },
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
        {
            "table": {
                "rows": ["sex"],
                "measure": "clipped_total",
                "of": "income",
                "clip": [10, 20],
                "expected_persons": {"5": 300, "15": 40},
            },
            "privacy": {"definition": "pure", "epsilon": 1},
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
            "clipped_total",
            question.bounds.step,
            lambda clip: ClippedTable.totals(question.domain, question.of, question.space, question.where, clip),
        )

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """In one spelling."""
        return "clipped_total", written_clip(parameters)
