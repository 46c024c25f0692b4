"""The distribution function of a numeric variable in each cell: which share of the records is at most so large, with a
band for the whole curve.

Records are counted between neighbouring points, and in runs of several bins where that makes the curve more exact.
Where the number of records is public it is not paid for. The error of sampling follows from the curve and costs
nothing; where records count by weights, it needs their squares.
"""

from collections.abc import Mapping
from typing import Any

from dalenius.core.plan import TablePlan
from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError, TooLarge
from dalenius.plans.distribution import plan_distribution
from dalenius.spec.document import Exact, Part, Whole, usual
from dalenius.spec.method import AnswerKind, Method, Words, example
from dalenius.spec.question import Question
from dalenius.translation import translated

MOST_POINTS = 255
_BINS = 20


class DistributionKeys(Part):
    """Keys of a distribution function: how many equal bins there are, or the points between them."""

    bins: Whole | tuple[Exact, ...] | None = usual(
        None, "Into how many equal bins the bounds are cut, 20 if left out, or the points between bins."
    )


def _points(question: Question) -> tuple[int, ...]:
    """In steps, each below the upper bound: the curve is 1 there."""
    bounds, bins = question.bounds, question.parameter("bins")
    if isinstance(bins, list | tuple):
        return _at(question, bins)
    width = bounds.high - bounds.low
    count = min(_BINS, width) if bins is None else int(bins)
    if not 2 <= count <= min(width, MOST_POINTS + 1):
        raise ParameterError(
            f"bins must be a whole number from 2 to {min(width, MOST_POINTS + 1)}: {question.of!r} has {width} steps.",
            name="bins",
        )
    return tuple(bounds.low + width * k // count for k in range(1, count))


def _at(question: Question, at: Any) -> tuple[int, ...]:
    bounds, points = question.bounds, sorted({rational(point, "bins") for point in at})
    if not points:
        raise ParameterError("bins needs at least one point.", name="bins")
    for point in points:
        if not bounds.lower <= point < bounds.upper or (point / bounds.step).denominator != 1:
            raise ParameterError(
                f"Points of {question.of!r} are multiples of {plain(bounds.step)} from {plain(bounds.lower)} to "
                f"below {plain(bounds.upper)}; received {plain(point)}.",
                name="bins",
            )
    if len(points) > MOST_POINTS:
        raise TooLarge(
            f"A distribution has at most {MOST_POINTS} points; received {len(points)}.",
            received=len(points),
            limit=MOST_POINTS,
        )
    return tuple(int(point / bounds.step) for point in points)


def _plan(question: Question) -> TablePlan:
    return plan_distribution(question, _points(question))


def _canonical(keys: Mapping[str, Any]) -> dict[str, Any]:
    bins = keys.get("bins")
    if not isinstance(bins, list | tuple):
        return {key: value for key, value in keys.items() if (key, value) != ("bins", _BINS)}
    points = sorted({rational(point, "bins") for point in bins})
    return {**keys, "bins": [plain(point) for point in points]}


DISTRIBUTION = Method(
    name="distribution",
    answer=AnswerKind.NUMBER,
    Parameters=DistributionKeys,
    plan=_plan,
    takes_weight=True,
    canonical_keys=_canonical,
    words=translated(
        Words(
            title="Distribution of {of}",
            preview="In a cell of {records} records, expect no point of the curve to be off by more than ± {error} "
            "(95 %) through privacy noise; in smaller cells by more.",
            caption="± is a band from privacy noise that holds at all points of a curve at once, {level}; a curve is "
            "missing where the released count is below one.",
        )
    ),
    examples=(
        example(rows=["sex"], measure="distribution", of="income", bins=8, rho="1/2"),
        example(measure="distribution", of="age", bins=[17, 64], epsilon=2),
        example(rows=["sex"], measure="distribution", of="income", bins=8, margins="all", rho="1/2"),
        example(rows=["sex"], measure="distribution", of="income", bins=8, weight="weight", rho=2),
    ),
)
