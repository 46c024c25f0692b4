"""Accuracy against privacy, from plans alone: what other amounts give, and the smallest amount for an accuracy."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from math import ceil, exp, inf, isfinite, isnan, log, nan
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.core import registry, search
from dalenius.core.budget import UNIT
from dalenius.core.domain import Domain
from dalenius.core.law import Joint
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan, margin_of_error
from dalenius.core.rationals import plain
from dalenius.errors import DaleniusError, ParameterError, RequestError, UnknownName, Unsupported
from dalenius.ledger.odometer import LEVEL, power_under_rho
from dalenius.spec.batch import Asked, BatchDocument
from dalenius.spec.canonical import canonical
from dalenius.spec.method import counts_records
from dalenius.spec.notes import note
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

Plan = Callable[[Asked], TablePlan]
# The guarantee of an accuracy where neither the request nor the policy names one.
DEFAULT_DEFINITION = "zero_concentrated"
# A count is readable from so many standard errors of its noise on: below it tables mark it as unreliable.
_READABLE = 3
# Amounts of three digits, as people write them: each is at most 1 % above the one before it.
AMOUNTS = tuple(Fraction(m) * Fraction(10) ** e for e in range(-9, 1) for m in range(100, 1000))
# Amounts that are tried by a power law before halving, and how near the ends are then at the latest.
_GUESSES, _NEAR = 8, 16
_FACTORS = tuple(Fraction(f) for f in ("1/8", "1/4", "1/2", "1", "2", "4", "8"))


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


def curve(plan: Plan, request: RequestDocument) -> tuple[TradeOff, ...]:
    """The request at an eighth to eight times its amount; amounts that are refused are left out."""
    amount = getattr(request.privacy, unit_of(request))
    points = []
    for factor in _FACTORS:
        try:
            points.append(_at(plan, request, amount * factor))
        except DaleniusError:
            if factor == 1:
                raise
    return tuple(points)


def unit_of(request: RequestDocument) -> str:
    return "rho" if request.privacy.rho is not None else "epsilon"


def _at(plan: Plan, request: RequestDocument, amount: Fraction) -> TradeOff:
    unit = unit_of(request)
    planned = plan(request.model_copy(update={"privacy": request.privacy.model_copy(update={unit: amount})}))
    if not isfinite(planned.error):
        raise Unsupported(
            "The error of this question is not known before data are read, so that no amount can be chosen by it."
        )
    cost = planned.reservation
    power = float(power_under_rho(cost.rho, cost.delta, LEVEL))
    return TradeOff(unit=unit, amount=amount, margin=planned.error, rho=cost.rho, power=power)


class _NotKnown(Unsupported, code="unsupported"):
    """The error depends on the data."""


def with_amount(asked: Asked, policy: PolicyDocument, plan: Plan) -> tuple[Asked, str]:
    """Return the request with the smallest amount of three digits whose expected error is small enough, and a note.

    Lists take the strategy that needs the least for it, where the request does not say what else is to be small. Raises
    `Unsupported` where the error of the question is not known before data are read, or no amount is enough.
    """
    wanted = asked.privacy.error_at_most
    if wanted is None:
        raise ParameterError("The request states amounts; only an accuracy is priced.")
    definition = asked.privacy.definition or _first_definition(policy)
    unit = registry.get("definitions", definition).amounts[0]
    amounts = [amount for amount in AMOUNTS if amount >= UNIT * asked.privacy.waves]
    price = _Price(asked=asked, definition=definition, unit=unit, amounts=amounts, plan=plan)
    place = price.cheapest(wanted)
    for strategy in _strategies(asked):
        other = replace(price, strategy=strategy)
        # One plan says whether another strategy is nearer at the same amount; then its own amount is looked for.
        with suppress(RequestError):
            if other.error(place) < price.error(place):
                price, place = other, other.cheapest(wanted)
    reached = price.error(place)
    if reached > wanted:
        raise Unsupported(
            f"No {unit} up to {plain(amounts[-1])} gives a margin of error of {plain(wanted)}.", key="error_at_most"
        )
    said = {"unit": unit, "amount": plain(amounts[place]), "error": f"{reached:,.4g}"}
    records = _records(price.plan_at(place).preview, asked.privacy.in_table)
    sentence = note("priced_for_cells", records=records, **said) if records else note("priced", **said)
    return price.at(place), sentence


def _first_definition(policy: PolicyDocument) -> str:
    """The policy's first definition; one that protects less than differential privacy is never taken unasked."""
    listed = policy.allow.definitions or (DEFAULT_DEFINITION,)
    whole = [name for name in listed if registry.get("definitions", name).scope is Scope.ALL_DATA]
    if not whole:
        raise ParameterError(
            f"The policy opens {', '.join(listed)} alone, which protect less than differential privacy. Name one as "
            "`definition` beside `error_at_most`.",
            name="definition",
        )
    return whole[0]


def _strategies(asked: Asked) -> tuple[str, ...]:
    """Other ways to measure a list than the planner's, where the request leaves open what is made small."""
    if isinstance(asked, BatchDocument) or asked.privacy.strategy is not None or asked.table.margins == "none":
        return ()
    is_open = asked.table.objective == "cells" and not asked.table.weights
    return registry.names("plans.margins.strategies") if is_open else ()


@dataclass(frozen=True, eq=False, kw_only=True)
class _Price:
    """A request at amounts in place of its accuracy; plans are made once."""

    asked: Asked
    definition: str
    unit: str
    amounts: Sequence[Fraction]
    plan: Plan
    strategy: str = ""
    _plans: dict[int, TablePlan] = field(default_factory=dict, init=False)

    def at(self, place: int) -> Asked:
        stated = {"definition": self.definition, self.unit: plain(self.amounts[place])}
        stated |= {"strategy": self.strategy} if self.strategy else {}
        content = self.asked.to_dict()
        kept = {key: part for key, part in content["privacy"].items() if key not in ("error_at_most", "in_table")}
        return type(self.asked).from_dict(content | {"privacy": kept | stated})

    def plan_at(self, place: int) -> TablePlan:
        if place not in self._plans:
            self._plans[place] = self.plan(self.at(place))
        return self._plans[place]

    def error(self, place: int, factor: float | None = None) -> float:
        """The expected margin of error of the median cell at an amount; `factor` where cells differ, or it is found."""
        table, planned = self.asked.privacy.in_table, self.plan_at(place)
        reached = (factor or _of_single_cells(planned, table)) * _median_error(planned, table)
        if isnan(reached):
            raise _NotKnown(
                "The error of this question is not known before data are read, so that no amount follows from "
                "`error_at_most`. State `rho`, or `epsilon`.",
                key="error_at_most",
            )
        return reached

    def cheapest(self, wanted: Fraction) -> int:
        """The place of the smallest amount that is enough, or the last one."""
        place = self._smallest(wanted, 1.0, len(self.amounts) // 2)
        # Cells of a table along levels differ, and by the same ratios at every amount.
        factor = _of_single_cells(self.plan_at(place), self.asked.privacy.in_table)
        return place if factor == 1 else self._smallest(wanted, factor, place)

    def _smallest(self, wanted: Fraction, factor: float, start: int) -> int:
        """The same with a factor for cells, sought from a place on where a power law through what is known leads to."""
        tried: list[tuple[float, float]] = []
        turns = count()

        def is_enough(place: int) -> bool:
            try:
                error = self.error(place, factor)
            except _NotKnown:
                raise
            except RequestError:
                # Noise that is too wide to be planned is not accurate enough; what else is wrong is raised in the end.
                return False
            if 0 < error < inf:
                tried.append((log(self.amounts[place]), log(error / wanted)))
            return error <= wanted

        def guess(low: int, high: int) -> int:
            turn = next(turns)
            if not turn:
                return start
            if not tried or turn > _GUESSES or high - low <= _NEAR:
                return (low + high) // 2
            power = 0.5 if self.unit == "rho" else 1.0
            if len(tried) > 1 and (slope := (tried[-1][1] - tried[-2][1]) / (tried[-2][0] - tried[-1][0])) > 0:
                power = min(max(slope, power / 2), 2 * power)
            amount, beyond = tried[-1]
            # Farther each time, so that both ends come near where margins are whole numbers.
            farther = 2**turn // 2 - 1
            place = bisect_left(self.amounts, exp(amount + beyond / power)) + (farther if beyond > 0 else -farther)
            return place if low - 1 <= place <= high + 1 else (low + high) // 2

        return search.smallest(is_enough, -1, len(self.amounts) - 1, guess)


def _median_error(plan: TablePlan, table: tuple[str, ...] | None) -> float:
    """The expected 95 % margin of error of the median cell, or of that of one listed table."""
    parts = sorted((_margin(part), int(part.get("cells") or 1)) for part in _parts(plan.preview, table))
    if any(isnan(error) for error, _ in parts):
        return nan
    half, below = sum(cells for _, cells in parts) / 2, 0
    for error, cells in parts:
        below += cells
        if below >= half:
            return error
    return nan


def _of_single_cells(plan: TablePlan, table: tuple[str, ...] | None) -> float:
    """The error of the median cell in parts of that by root mean squares of tables; 1 where cells do not differ."""
    margins = plan.preview.get("margins")
    if not margins or not isinstance(plan.law, Joint) or not joint.is_combined(plan.law):
        return 1.0
    wanted = _parts(plan.preview, table)
    errors = [
        margin_of_error(part) * np.sqrt(variance / np.quantile(variance, 0.5, method="lower"))
        for part, variance in zip(margins, joint.variances(plan.law), strict=True)
        if any(part is each for each in wanted)
    ]
    if all(np.ptp(error) <= 1e-9 * error.max() for error in errors):
        return 1.0
    cells = np.sort(np.concatenate(errors))
    return float(cells[(len(cells) - 1) // 2]) / _median_error(plan, table)


def _margin(part: Mapping[str, Any]) -> float:
    """What the margin of error of a release is expected to stay below; infinite where noise leaves no estimate."""
    margin = float(part.get("half_width_95_at_most") or margin_of_error(part))
    return inf if isnan(margin) and "half_width_95" in part else margin


def _records(preview: Mapping[str, Any], table: tuple[str, ...] | None) -> str:
    """How many records a cell was expected to have, where the error depends on it."""
    sizes = sorted({int(part["records"]) for part in _parts(preview, table) if "records" in part})
    return " to ".join(f"{size:,}" for size in dict.fromkeys((*sizes[:1], *sizes[-1:])))


def too_fine(plan: TablePlan, request: RequestDocument, domain: Domain) -> tuple[str, ...]:
    """From which count on cells are readable, and which coarser level would do, where cells of the declared size are
    not; nothing where no size is declared.
    """
    size, table = domain.public_size, request.table
    is_count = counts_records(request.method) and table.weight is None
    if size is None or not is_count or table.where or domain.neighbours.max_rows > 1:
        return ()
    finest = max(plan.preview.get("margins") or (plan.preview,), key=lambda part: int(part.get("cells") or 1))
    cells, error = int(finest.get("cells") or 1), finest.get("std_error")
    if cells < 2 or not isinstance(error, int | float) or not isfinite(error):
        return ()
    least = ceil(_READABLE * error)
    if size >= least * cells:
        return ()
    sentence = note("too_fine", least=f"{least:,}", expected=f"{max(size // cells, 1):,}")
    # The finest declared level with which cells of the average size are readable.
    axes = [axis for axis in canonical(request, domain).space.axes if axis.codes and not axis.level]
    levels = [
        (cells // len(axis) * len(each.groups), axis.variable, each.level)
        for axis in axes
        for each in domain.variable(axis.variable).hierarchies
    ]
    fitting = [level for level in levels if level[0] * least <= size]
    if not fitting:
        return (sentence,)
    _, variable, name = max(fitting)
    return sentence, note("coarser", level=name, variable=variable)


def _parts(preview: Mapping[str, Any], table: tuple[str, ...] | None) -> list[Mapping[str, Any]]:
    """The tables of a preview, each with its number of cells and its error."""
    tables = [part for each in preview.get("tables") or (preview,) for part in each.get("margins") or (each,)]
    if table is None:
        return tables
    named = [part for part in tables if "axes" in part and set(part["axes"]) == set(table)]
    if not named:
        listed = [", ".join(part["axes"]) for part in tables if "axes" in part]
        raise UnknownName.among("table of this request", ", ".join(table), listed)
    return named
