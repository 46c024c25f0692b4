"""The five numbers of a box plot in each cell, each with its errors and interval: two whiskers, the quartiles and the
median.

The ends of the data themselves belong to single persons; whiskers therefore reach to quantiles with a declared share of
the records beyond them.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError
from dalenius.spec.document import Exact, Part
from dalenius.spec.method import Method, Words, example
from dalenius.translation import translated

__all__ = ["BoxplotMethod"]

_BEYOND = Fraction(1, 20)
_BOX = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


class BoxplotParameters(Part):
    """Keys of a box plot: which share of the records lies beyond each whisker."""

    beyond: Exact = _BEYOND
    error: Literal["noise", "sampling"] = "sampling"


class BoxplotMethod(Method):
    """The values between which most records, half of them, and each half lie."""

    name: str = "boxplot"
    Parameters: type[Part] = BoxplotParameters
    words: Mapping[str, Words] = translated(
        Words(
            title="Box plot of {of}",
            preview="In a cell of {records} records, expect the interval of a number of the box plot to reach {error} "
            "ranks to either side (95 %) through privacy noise.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however many records share a value. Whiskers reach to quantiles, not to single records.",
        )
    )
    examples: tuple[Mapping[str, Any], ...] = (
        example(rows=["sex"], measure="boxplot", of="income", epsilon=8),
        example(measure="boxplot", of="age", beyond="1/10", rho=1),
    )

    @staticmethod
    def equivalent(keys: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """As the five quantiles that it is: one question has one answer."""
        others = dict(keys)
        beyond = _beyond(others.pop("beyond", _BEYOND))
        return "quantiles", {**others, "q": [plain(q) for q in (beyond, *_BOX, 1 - beyond)]}


def _beyond(share: object) -> Fraction:
    beyond = rational(share, "beyond")
    if not 0 < beyond < Fraction(1, 4):
        raise ParameterError(
            f"beyond is a share of the records between 0 and 1/4; received {plain(beyond)}.", name="beyond"
        )
    return beyond
