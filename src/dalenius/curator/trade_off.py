"""Accuracy against privacy, and the smallest budget for a wanted accuracy, from plans alone."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isfinite, log10, sqrt

from dalenius.algebra import joint
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan, margin_of_error
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError, ParameterError, Unsupported
from dalenius.ledger.odometer import LEVEL, power_under_rho
from dalenius.spec.request import RequestDocument

# Amounts of two digits, as people write them.
AMOUNTS = tuple(Fraction(m) * Fraction(10) ** e for e in range(-5, 2) for m in range(10, 100))
_FACTORS = tuple(Fraction(f) for f in ("1/8", "1/4", "1/2", "1", "2", "4", "8"))
_MOST_GUESSES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """An amount in the unit of the request, the largest 95 % margin of error of a cell, and what an intruder gains.

    `power`: how often, at most, the best test at a level of 5 % recognises whether somebody is in the data.
    """

    unit: str
    amount: Fraction
    margin: float
    rho: Fraction
    power: float

    def to_dict(self) -> dict[str, object]:
        return {
            self.unit: float(self.amount),
            "half_width_95": self.margin,
            "rho": float(self.rho),
            "power_at_5_percent": self.power,
        }


def curve(planner: Planner, request: RequestDocument) -> tuple[TradeOff, ...]:
    """The request at an eighth to eight times its amount; amounts that are refused are left out."""
    amount = getattr(request.privacy, unit_of(request))
    points = []
    for factor in _FACTORS:
        try:
            points.append(_at(planner, request, amount * factor))
        except DaleniusError:
            if factor == 1:
                raise
    return tuple(points)


def smallest_for(planner: Planner, request: RequestDocument, margin: float) -> TradeOff:
    """The smallest amount of two digits whose largest 95 % margin of error is at most `margin`."""
    _check_margin(margin)

    def is_enough(amount: Fraction) -> bool:
        try:
            return _planned(planner, request, amount)[1] <= margin
        except Unsupported:
            # Below what can be planned there is nothing that is accurate enough.
            return False

    _planned(planner, request, getattr(request.privacy, unit_of(request)))
    place = bisect_left(AMOUNTS, True, key=is_enough)
    if place == len(AMOUNTS):
        raise Unsupported(
            f"No {unit_of(request)} up to {float(AMOUNTS[-1]):g} gives a margin of error of {margin:g}.", margin=margin
        )
    return _at(planner, request, AMOUNTS[place])


def smallest_within(
    planner: Planner, request: RequestDocument, margin: float, table: Sequence[str], confidence: float = 0.95
) -> TradeOff:
    """The smallest amount of three digits at which every cell of one listed table is within `margin` with this
    confidence.

    `table` names the axes of the table; () is the grand total. Errors fall with the root of rho, or with epsilon, so
    that few plans are made.
    """
    _check_margin(margin)
    if not 0 < confidence < 1:
        raise ParameterError("A confidence lies between 0 and 1.", name="confidence")
    unit = unit_of(request)
    power = 2 if unit == "rho" else 1
    amount = Fraction(getattr(request.privacy, unit))
    reached: dict[Fraction, float] = {}

    def error(at: Fraction) -> float:
        if at not in reached:
            reached[at] = _table_error(_replanned(planner, request, at), table, confidence)
        return reached[at]

    for _ in range(_MOST_GUESSES):
        following = _rounded_up(amount * Fraction((error(amount) / margin) ** power))
        if following in reached:
            break
        amount = following
    while error(amount) > margin:
        amount = _rounded_up(amount * Fraction(1_000_001, 1_000_000))
    for _ in range(_MOST_GUESSES):
        below = _before(amount)
        if error(below) > margin:
            break
        amount = below
    return _point(_replanned(planner, request, amount), unit, amount, error(amount))


def _check_margin(margin: float) -> None:
    if not margin > 0 or not isfinite(margin):
        raise ParameterError("A wanted margin of error is a positive number.", name="margin")


def _rounded_up(amount: Fraction) -> Fraction:
    """To three digits."""
    unit = Fraction(10) ** (floor(log10(amount)) - 2)
    return -(-amount // unit) * unit


def _before(amount: Fraction) -> Fraction:
    """The amount of three digits below one."""
    unit = Fraction(10) ** (floor(log10(amount)) - 2)
    below = amount - unit
    return below if below >= 100 * unit else amount - unit / 10


def _table_error(plan: TablePlan, table: Sequence[str], confidence: float) -> float:
    """The largest half-width of an interval of a cell of one table, from the plan's law."""
    listed = [set(part["axes"]) for part in plan.preview.get("margins") or ()]
    if not isinstance(plan.law, Joint) or not joint.is_combined(plan.law) or set(table) not in listed:
        names = ", ".join(" x ".join(sorted(axes)) or "total" for axes in listed)
        raise Unsupported(
            "An amount for one table is found for lists of counts and totals; this request lists "
            f"{names or 'no margins'}."
        )
    variance = joint.largest_variances(plan.law)[listed.index(set(table))]
    laws = [measurement.law for measurement in plan.measurements]
    return joint.reach(laws, confidence) * sqrt(variance)


def unit_of(request: RequestDocument) -> str:
    """The key in which a request states its amount."""
    return "rho" if request.privacy.rho is not None else "epsilon"


def _planned(planner: Planner, request: RequestDocument, amount: Fraction) -> tuple[TablePlan, float]:
    """The plan at another amount, and its largest margin of error."""
    plan = _replanned(planner, request, amount)
    margins = [margin_of_error(part) for part in plan.preview.get("margins") or (plan.preview,)]
    if not all(isfinite(margin) for margin in margins):
        raise Unsupported(
            "The error of this question is not known before data are read, so that no amount can be chosen by it."
        )
    return plan, max(margins)


def _replanned(planner: Planner, request: RequestDocument, amount: Fraction) -> TablePlan:
    privacy = request.privacy.model_copy(update={unit_of(request): amount})
    return planner.plan(request.model_copy(update={"privacy": privacy}))


def _at(planner: Planner, request: RequestDocument, amount: Fraction) -> TradeOff:
    plan, margin = _planned(planner, request, amount)
    return _point(plan, unit_of(request), amount, margin)


def _point(plan: TablePlan, unit: str, amount: Fraction, margin: float) -> TradeOff:
    cost = plan.reservation
    power = float(power_under_rho(cost.rho, cost.delta, LEVEL))
    return TradeOff(unit=unit, amount=amount, margin=margin, rho=cost.rho, power=power)
