"""Several quantiles of a numeric variable in each cell, each with its errors and interval: quartiles, deciles, a
median.

Each quantile is selected with points beside it, and counts between all points certify which of them enclose it: an
interval holds for every grid and however many records share a value. The number of records, where it is not public, is
measured first with a twentieth of the budget.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError
from dalenius.measurements.grid_selection import MOST_QUANTILES
from dalenius.plans.order import OrderMethod
from dalenius.spec.document import Exact, Part, Whole, usual
from dalenius.spec.method import Words, example
from dalenius.spec.question import Question
from dalenius.translation import translated

__all__ = ["QUANTILES"]

_PARTS = 4


class QuantilesKeys(Part):
    """Keys of several quantiles: how many equal parts they make, or which they are."""

    parts: Whole | None = usual(None, "Into how many equal parts the quantiles cut the records: 4 gives quartiles.")
    q: Exact | tuple[Exact, ...] | None = usual(None, "Which quantiles, as shares of the records.")
    error: Literal["noise", "sampling"] = "sampling"


def _shares(question: Question) -> tuple[Fraction, ...]:
    parts, shares = question.parameter("parts"), question.parameter("q")
    if parts is not None and shares is not None:
        raise ParameterError("Write parts (equal parts) or q (shares), not both.", name="parts")
    if shares is not None:
        return tuple(sorted({rational(q, "q") for q in shares}))
    count = _PARTS if parts is None else int(parts)
    if not 2 <= count <= MOST_QUANTILES:
        raise ParameterError(f"parts must be a whole number from 2 to {MOST_QUANTILES}.", name="parts")
    return tuple(Fraction(k, count) for k in range(1, count))


def _canonical(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Shares as a rising list of exact texts; neither key for the quartiles, which are meant without one."""
    q = keys.get("q")
    if q is None:
        return {key: value for key, value in keys.items() if (key, value) != ("parts", _PARTS)}
    shares = sorted({rational(share, "q") for share in (q if isinstance(q, list | tuple) else [q])})
    if shares == [Fraction(k, 4) for k in (1, 2, 3)] and "parts" not in keys:
        return {key: value for key, value in keys.items() if key != "q"}
    return {**keys, "q": [plain(share) for share in shares]}


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
        example(measure="quantiles", of="income", parts=10, error="noise", epsilon=8),
        example(rows=["sex"], measure="quantiles", of="income", weight="weight", rho=2),
    ),
)
