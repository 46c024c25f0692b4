"""The five numbers of a box plot in each cell, each with its errors and interval: two whiskers, the quartiles and the
median.

The ends of the data themselves belong to single persons; whiskers therefore reach to quantiles with a declared share of
the records beyond them.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError
from dalenius.plans.quantiles import plan_quantiles
from dalenius.spec.document import Exact, Part
from dalenius.spec.method import Words, spelled
from dalenius.spec.question import Question
from dalenius.translation import translated

__all__ = ["BoxplotMethod"]

_BEYOND = Fraction(1, 20)
_BOX = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


class BoxplotParameters(Part):
    """Keys of a box plot: which share of the records lies beyond each whisker."""

    section: ClassVar[str] = "[table] of a boxplot"

    beyond: Exact | None = None
    error: Literal["noise", "sampling"] = "sampling"


class BoxplotMethod:
    """The values between which most records, half of them, and each half lie."""

    name: ClassVar[str] = "boxplot"
    takes_of: ClassVar[bool] = True
    counts_records: ClassVar[bool] = False
    has_error: ClassVar[bool] = True
    is_offered: ClassVar[bool] = True
    scopes: ClassVar[tuple[Scope, ...]] = (Scope.ALL_DATA,)
    Parameters: ClassVar[type[Part]] = BoxplotParameters
    words: ClassVar[Mapping[str, Words]] = translated(
        Words(
            title="Box plot of {of}",
            preview="In a cell of {records} records, expect the interval of a number of the box plot to reach {error} "
            "ranks to either side (95 %) through privacy noise.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however"
            " many records share a value. Whiskers reach to quantiles, not to single records.",
        )
    )
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {
            "table": {"rows": ["sex"], "measure": "boxplot", "of": "income"},
            "privacy": {"definition": "pure", "epsilon": 8},
        },
        {
            "table": {"measure": "boxplot", "of": "age", "beyond": "1/10"},
            "privacy": {"definition": "zero_concentrated", "rho": 1},
        },
    )

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """Five quantiles, asked for together."""
        beyond = _beyond(question.parameter("beyond", _BEYOND))
        return plan_quantiles(question, (beyond, *_BOX, 1 - beyond))

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """As the five quantiles that it is: one question has one answer."""
        keys = spelled(parameters, error="sampling")
        stated = keys.pop("beyond", None)
        beyond = _beyond(_BEYOND if stated is None else stated)
        return "quantiles", {**keys, "q": [plain(q) for q in (beyond, *_BOX, 1 - beyond)]}


def _beyond(share: object) -> Fraction:
    beyond = rational(share, "beyond")
    if not 0 < beyond < Fraction(1, 4):
        raise ParameterError(
            f"beyond is a share of the records between 0 and 1/4; received {plain(beyond)}.", name="beyond"
        )
    return beyond
