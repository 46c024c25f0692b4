"""Several quantiles of a numeric variable in each cell, each with its errors and interval: quartiles, deciles, a
median.

Each quantile is selected with points beside it, and counts between all points certify which of them enclose it: an
interval holds for every grid and however many records share a value. The number of records, where it is not public, is
measured first with a twentieth of the budget.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError
from dalenius.measurements.grid_selection import MOST_QUANTILES
from dalenius.plans.order import OrderMethod
from dalenius.spec.keys import ErrorKey, ShareKey
from dalenius.spec.method import Words, example
from dalenius.spec.question import Question
from dalenius.translation import translated

_PARTS = 4


class QuantilesKeys(ErrorKey, ShareKey):
    """Keys of several quantiles: how many equal parts they make, or which they are."""


def _shares(question: Question) -> tuple[Fraction, ...]:
    q = question.parameter("q", _PARTS)
    return _parts(int(q)) if _is_number_of_parts(q) else tuple(sorted({rational(each, "q") for each in q}))


def _is_number_of_parts(q: Any) -> bool:
    return not isinstance(q, list | tuple) and rational(q, "q") > 1


def _parts(count: int) -> tuple[Fraction, ...]:
    if not 2 <= count <= MOST_QUANTILES:
        raise ParameterError(
            f"q is a share, a list of shares, or a whole number of equal parts from 2 to {MOST_QUANTILES}.", name="q"
        )
    return tuple(Fraction(k, count) for k in range(1, count))


def _canonical(keys: Mapping[str, Any]) -> dict[str, Any]:
    """A number of parts, or shares as a rising list of exact texts; nothing for the quartiles."""
    q = keys.get("q")
    if q is None:
        return dict(keys)
    others = {key: value for key, value in keys.items() if key != "q"}
    if _is_number_of_parts(q):
        if rational(q, "q").denominator != 1:
            raise ParameterError(f"q is a share from 0 to 1, or a whole number of equal parts; received {q}.", name="q")
        return others if int(q) == _PARTS else {**others, "q": int(q)}
    shares = sorted({rational(share, "q") for share in (q if isinstance(q, list | tuple) else [q])})
    if shares == [Fraction(k, 4) for k in (1, 2, 3)]:
        return others
    return {**others, "q": [plain(share) for share in shares]}


QUANTILES = OrderMethod(
    name="quantiles",
    ranks=_shares,
    Parameters=QuantilesKeys,
    canonical_keys=_canonical,
    words=translated(
        Words(
            title="Quantiles of {of}",
            preview="In a cell of {records} records, expect the interval of a quantile to reach {ranks} ranks to "
            "either side (95 %) through privacy noise: ± {error} if values are spread evenly between the bounds, and "
            "less where they are dense.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            "certify; it holds however many records share a value.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="quantiles", of="income", epsilon=2),
        example(measure="quantiles", of="age", q=["1/2"], rho=1),
        example(measure="quantiles", of="income", q=10, error="noise", epsilon=8),
        example(rows=["sex"], measure="quantiles", of="income", weight="weight", rho=2),
    ),
)
