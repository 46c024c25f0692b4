"""Plans of weighted means, ratios and totals: sums of w x, and sums of squared weights for the error of the design.

One row moves a sum by its weight times its value, so that the noise follows the largest declared weight. The error of
the design needs sums of w^2, w^2 x and w^2 x^2, which are confidential too: they are taken row by row from bins of the
declared bounds, so that no product leaves 64 bits, and charged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

from dalenius.core.domain import Bounds
from dalenius.core.plan import TablePlan
from dalenius.core.query import Aggregate
from dalenius.core.rationals import rational
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.plans.moments import (
    CLIPPED,
    MeasuredPart,
    check_size,
    noisy,
    plan_estimate,
    rows_with,
    sampling_notes,
    wants_sampling,
)
from dalenius.plans.pairs import OTHER, OTHER_SQUARES, other_of
from dalenius.plans.weighted import fixed_weight
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.binned_sums import BinnedSums
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.mirrored_totals import MirroredTotals

# The share of the budget that the error of the design takes; squares and products of two variables move further.
DESIGN, DESIGN_OF_TWO = Fraction(1, 10), Fraction(1, 5)
# A bin adds at most so much to a sum of squares: the grid on which they are rounded.
GRID = 2**20
# Counts of cells and bins that are read for one table.
_MOST_COUNTS = 2**22
# A share by which weights are regularised has at most so large a denominator.
_MOST_PARTS = 100
_BINS = {1: (32, 64), 2: (16, 16, 16)}


def plan_weighted_mean(question: Question) -> TablePlan:
    """Hajek's mean: both weighted totals, from the lower bound up and from the upper one down, and three sums of
    squared weights.
    """
    weight, weights = _weight_of(question)
    bounds, has_sampling = question.bounds, wants_sampling(question, is_weighted=True)
    width = bounds.high - bounds.low
    if width == 0:
        raise Unsupported(f"The bounds of {question.of!r} are one number; there is nothing to estimate.")
    regular = _regular(question, weights)
    largest = regular.multiple * weights.high + regular.common
    check_size(question, question.of, width * largest)
    mirrored = replace(
        MirroredTotals.of(replace(rows_with(question), weight=weight), bounds, largest=largest),
        multiple=regular.multiple,
        common=regular.common,
        lightest=weights.low,
    )
    part = 1 - DESIGN if has_sampling else Fraction(1)
    typical = (regular.multiple * _middle(weights) + regular.common) * width / 2
    parts = [
        MeasuredPart(
            arrays=("above", "below"),
            measurement=noisy(question, f"weighted total of {question.of} from both bounds", mirrored, part),
            typical=(typical, typical),
        )
    ]
    if has_sampling:

        def numbers(w: int, x: int) -> Sequence[int]:
            t = Fraction(x - 2 * bounds.low, 2 * width)
            square = Fraction(regular.multiple * w + 2 * regular.common, 2 * largest) ** 2
            return [int(GRID * square * one) for one in ((1 - t) ** 2, 2 * t * (1 - t), t**2)]

        arrays = ("lower squares", "middle squares", "upper squares")
        variables = ((weight, weights), (question.of, bounds))
        unit = Fraction(largest**2, GRID)
        parts.append(_design(question, variables, arrays, numbers, unit, [1 / 3] * 3))
    spread = sqrt(2) * parts[0].measurement.law.std_error / width
    return _planned(
        question,
        "mean",
        parts,
        {
            "scale": bounds.step,
            "low": bounds.low,
            "high": bounds.high,
            "weight step": weights.step / regular.parts,
            "least": Fraction(max(3 * spread, 1.0)).limit_denominator(1000),
        },
        (bounds.lower, bounds.upper),
        warnings=(note("regularised"),) if regular.common else (),
    )


@dataclass(frozen=True, slots=True)
class _Regular:
    """Each row counts multiple * w + common, in steps of a weight over `parts`."""

    multiple: int = 1
    common: int = 0
    parts: int = 1


def _regular(question: Question, weights: Bounds) -> _Regular:
    """How far weights are drawn towards a common one: by a declared share, to a declared weight or the middle of the
    bounds.
    """
    named = question.parameter("regularise")
    if named is None:
        return _Regular()
    part = rational(named, "regularise")
    if not 0 < part < 1 or part.denominator > _MOST_PARTS:
        raise ParameterError(
            f"regularise is a share between 0 and 1, of at most {_MOST_PARTS} parts: 0.5 draws every weight half of "
            "the way to the common one. For 1 leave the weight out.",
            name="regularise",
        )
    common = rational(
        question.parameter("common_weight", (weights.low + weights.high) // 2 * weights.step), "common_weight"
    )
    steps = common / weights.step
    if steps.denominator != 1 or not max(weights.low, 1) <= steps <= weights.high:
        raise ParameterError(
            "common_weight must be one of the declared weights, above 0 and a multiple of their step.",
            name="common_weight",
        )
    return _Regular(part.denominator - part.numerator, part.numerator * int(steps), part.denominator)


def plan_weighted_total(question: Question) -> TablePlan:
    """The sum of w x, and of its squares."""
    weight, weights = _weight_of(question)
    bounds = question.bounds
    has_sampling = wants_sampling(question, is_weighted=True)
    part = 1 - DESIGN if has_sampling else Fraction(1)
    parts = [_total(question, question.of, "total", weights, part, has_other=False)]
    if has_sampling:
        largest = max(abs(bounds.low), abs(bounds.high), 1)

        def numbers(w: int, x: int) -> Sequence[int]:
            return [int(GRID * Fraction(w * x, 4 * weights.high * largest) ** 2)]

        variables = ((weight, weights), (question.of, bounds))
        unit = Fraction((weights.high * largest) ** 2, GRID)
        parts.append(_design(question, variables, ("squares",), numbers, unit, [1 / 3]))
    scale = bounds.step * weights.step
    return _planned(question, "total", parts, {"scale": scale}, ("-inf", "inf"))


def plan_weighted_ratio(question: Question) -> TablePlan:
    """The quotient of two sums of w x and w y, and the squares and products of both."""
    weight, weights = _weight_of(question)
    (other, beside), bounds = other_of(question), question.bounds
    per = rational(question.parameter("per", 1), "per")
    if per <= 0:
        raise ParameterError("per must be positive: 1 for a ratio, 1000 for a rate.", name="per")
    if beside.low < 0:
        raise Unsupported(
            f"The variable below the line must not be negative; {other!r} may be, by its bounds.", variable=other
        )
    half = (1 - DESIGN_OF_TWO if wants_sampling(question, is_weighted=True) else Fraction(1)) / 2
    parts = [
        _total(question, question.of, "total", weights, half, has_other=True),
        _total(question, other, OTHER, weights, half, has_other=True),
    ]
    units: dict[str, object] = {}
    if wants_sampling(question, is_weighted=True):
        x_most, y_most = (max(abs(one.low), abs(one.high), 1) for one in (bounds, beside))

        def numbers(w: int, x: int, y: int) -> Sequence[int]:
            square = Fraction(w, 2 * weights.high) ** 2
            s, t = Fraction(x, 2 * x_most), Fraction(y, 2 * y_most)
            return [int(GRID * square * one) for one in (s * s, s * t, t * t)]

        variables = ((weight, weights), (question.of, bounds), (other, beside))
        arrays, sizes = ("squares", "products", OTHER_SQUARES), (x_most**2, x_most * y_most, y_most**2)
        parts.append(_design(question, variables, arrays, numbers, Fraction(1), [1 / 3, 1 / 4, 1 / 3]))
        units = {
            f"{name} unit": Fraction(weights.high**2 * size, GRID) for name, size in zip(arrays, sizes, strict=True)
        }
    least = Fraction(3 * parts[1].measurement.law.std_error).limit_denominator(1000)
    scale = per * bounds.step / beside.step
    return _planned(
        question,
        "ratio",
        parts,
        {"scale": scale, "least": max(least, Fraction(2))} | units,
        ("0" if bounds.low >= 0 else "-inf", "inf"),
        name=f"weighted ratio of {question.of} to {other}",
    )


def _weight_of(question: Question) -> tuple[str, Bounds]:
    """The declared weight; a variable stands on one axis, in one bin or as weight only."""
    weight, weights = fixed_weight(question)
    names = [weight, question.of, *(axis.variable for axis in question.space.axes)]
    if len(set(names)) != len(names):
        raise Unsupported(
            "What is weighted, the weight, and the rows and columns must be different variables.", weight=weight
        )
    if weights.high == 0:
        raise Unsupported(f"The largest declared weight of {weight!r} is 0: nothing would be counted.")
    return weight, weights


def _total(
    question: Question, variable: str, array: str, weights: Bounds, part: Fraction, *, has_other: bool
) -> MeasuredPart:
    """The sum of w times a variable over the rows that have everything."""
    bounds = question.domain.variable(variable).bounds
    query = rows_with(question, *([other_of(question)[0]] if has_other else []))
    corners = [w * x for w in (weights.low, weights.high) for x in (bounds.low, bounds.high)]
    check_size(question, variable, max(abs(one) for one in corners))
    statistic = MagnitudeTable(
        query=replace(query, aggregate=Aggregate.TOTAL, value=variable, weight=str(question.weight)),
        low=min(corners),
        high=max(corners),
    )
    return MeasuredPart(
        arrays=(array,),
        measurement=noisy(question, f"weighted total of {variable}", statistic, part),
        typical=(_middle(weights) * (bounds.low + bounds.high) / 2,),
    )


def _design(
    question: Question,
    variables: Sequence[tuple[str, Bounds]],
    arrays: tuple[str, ...],
    numbers: object,
    unit: Fraction,
    typical: Sequence[float],
) -> MeasuredPart:
    """Sums of squared weights from bins, finer where there are fewer cells."""
    most = _BINS[len(variables) - 1]
    space = question.space
    counts = space.size
    for bins, (_, bounds) in zip(most, variables, strict=True):
        counts *= min(bins, bounds.high - bounds.low + 1)
    if counts > _MOST_COUNTS:
        raise TooLarge(
            f"The error of the design would need {counts:,} counts; at most {_MOST_COUNTS:,} are read. Use error = "
            '"noise", or fewer'
            " or coarser rows and columns.",
            received=counts,
            limit=_MOST_COUNTS,
        )
    bins_by_variable = [(name, bounds, bins) for (name, bounds), bins in zip(variables, most, strict=True)]
    statistic = BinnedSums.of(space, question.where, bins_by_variable, arrays, numbers)  # type: ignore[arg-type]
    part = DESIGN if len(variables) == 2 else DESIGN_OF_TWO
    weights = variables[0][1]
    square = float(weights.low**2 + weights.low * weights.high + weights.high**2) / (3 * weights.high**2)
    return MeasuredPart(
        arrays=arrays,
        measurement=noisy(question, f"squared weights of {question.of}", statistic, part),
        typical=tuple(GRID * square * one for one in typical),
        unit=unit,
    )


def _planned(
    question: Question,
    measure: str,
    parts: Sequence[MeasuredPart],
    parameters: dict[str, object],
    limits: tuple[object, object],
    *,
    name: str = "",
    warnings: tuple[str, ...] = (),
) -> TablePlan:
    warnings = (*warnings, note("fixed_weights"), CLIPPED, *sampling_notes(question, is_weighted=True))
    if wants_sampling(question, is_weighted=True):
        warnings = (*warnings, note("design_error"))
    return plan_estimate(
        question,
        f"weighted {measure}",
        name or f"weighted {measure} of {question.of}",
        tuple(parts),
        parameters,
        limits,
        measure=measure,
        warnings=warnings,
    )


def _middle(bounds: Bounds) -> float:
    return (bounds.low + bounds.high) / 2
