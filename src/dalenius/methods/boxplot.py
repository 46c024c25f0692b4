"""The five numbers of a box plot in each cell, each with its errors and interval: two whiskers, the quartiles and the
median.

The ends of the data themselves belong to single persons; whiskers therefore reach to quantiles with a declared share of
the records beyond them.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError
from dalenius.plans.order import OrderMethod
from dalenius.plans.quantiles import QUARTILES
from dalenius.spec.keys import HALF, BeyondKey, ErrorKey
from dalenius.spec.method import Words, example
from dalenius.translation import translated

_BEYOND = Fraction(1, 20)


class BoxplotKeys(ErrorKey, BeyondKey):
    """Keys of a box plot: which share of the records lies beyond each whisker."""


def _five(share: object) -> tuple[Fraction, ...]:
    beyond = rational(share, "beyond")
    if not 0 < beyond < QUARTILES[0]:
        raise ParameterError(
            f"beyond is a share of the records between 0 and 1/4; received {plain(beyond)}.", name="beyond"
        )
    return beyond, QUARTILES[0], HALF, QUARTILES[1], 1 - beyond


def _as_quantiles(keys: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """As the five quantiles that it is: one question has one answer."""
    others = {key: value for key, value in keys.items() if key != "beyond"}
    return "quantiles", {**others, "q": [plain(q) for q in _five(keys.get("beyond", _BEYOND))]}


BOXPLOT = OrderMethod(
    name="boxplot",
    ranks=lambda question: _five(question.parameter("beyond", _BEYOND)),
    Parameters=BoxplotKeys,
    equivalent=_as_quantiles,
    words=translated(
        Words(
            title="Box plot of {of}",
            preview="In a cell of {records} records, expect the interval of a number of the box plot to reach {ranks} "
            "ranks to either side (95 %) through privacy noise: ± {error} if values are spread evenly between the "
            "bounds, and less where they are dense.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however many records share a value. Whiskers reach to quantiles, not to single records.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="boxplot", of="income", epsilon=8),
        example(measure="boxplot", of="age", beyond="1/10", rho=1),
    ),
)
