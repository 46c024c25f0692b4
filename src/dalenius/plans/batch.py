"""How a batch is measured: what every table gets of one guarantee, and the price of all of them as one event.

Every table is planned for its share of an amount, and the amount is then raised as far as the losses of all steps,
which `exact/additive.py` adds, still fit the guarantee. Looks at documents, never at data.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, log, nan
from typing import Any

from dalenius.algebra.estimates import is_estimate
from dalenius.core.budget import Budget, Cost
from dalenius.core.contracts import Definition
from dalenius.core.evidence import Level
from dalenius.core.law import Additive
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.plan import BatchPlan, TablePlan, TwoStepPlan
from dalenius.core.profile import PrivacyProfile
from dalenius.core.release import BATCH, Block, Table
from dalenius.core.search import narrow
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.ledger.composition import compose, in_sequence
from dalenius.plans.allotments import allotments
from dalenius.plans.priced import share

MemberBudget = tuple[Definition, Budget]
# The plan of one table, by its number, for a part of what is spent.
PlanMember = Callable[[int, MemberBudget], TablePlan]
Spend = Callable[[Fraction], MemberBudget]
Plans = tuple[TablePlan, ...]
_MOST_RAISED = 8
_HALVINGS = 6
# A failure probability is paid for a smaller rho only where it saves at least this share, which Gaussian noise never
# does.
_WORTH = Fraction(1, 100)


@dataclass(frozen=True, kw_only=True)
class BatchAsked:
    """A guarantee for several tables together, and the part of it that each takes."""

    shares: tuple[Fraction, ...]
    budget: Budget
    definition: Definition
    neighbours: Neighbours


def member_plans(asked: BatchAsked, plan_member: PlanMember) -> Plans:
    """The plans of all tables with the least noise that is known to fit the guarantee together."""
    if asked.definition.scope is not Scope.ALL_DATA:
        raise Unsupported(
            f"A batch is priced under definitions that hold everywhere; {asked.definition.name!r} does not. Ask for "
            "its tables one by one.",
            definition=asked.definition.name,
        )
    searches = []
    for spend in _currencies(asked):
        # Noise that one currency has no price for may have one in another.
        with suppress(Unsupported, ParameterError):
            search = _Spending(asked, plan_member, spend)
            searches.append((_score(search.first), search))
    if not searches:
        # What a table is refused for under the guarantee itself says more than a refusal in another currency.
        own = _Spending(asked, plan_member, lambda part: (asked.definition, share(asked.budget, part)))
        return own.best()
    (_, first), *others = sorted(searches, key=lambda pair: pair[0])
    plans = first.best()
    for score, search in others:
        # Raising an amount hardly ever halves a variance: a currency that is farther behind is left.
        if score - len(plans) * log(2) < _score(plans):
            plans = min(plans, search.best(), key=_score)
    return plans


def _currencies(asked: BatchAsked) -> list[Spend]:
    """Ways to spend the guarantee: as epsilon, as rho, or both."""
    try:
        return [allotment.part for allotment in allotments(asked.definition, asked.budget) if not allotment.is_by_loss]
    except Unsupported:
        return []


class _Spending:
    """The plans for the largest multiple of an amount, spent in one currency, at which the whole fits."""

    def __init__(self, asked: BatchAsked, plan_member: PlanMember, spend: Spend) -> None:
        self._asked, self._plan_member, self._spend = asked, plan_member, spend
        plans = self._planned(Fraction(1))
        if not _fits(asked, plans):
            raise Unsupported(f"These tables do not fit {asked.budget.definition!r} together at this budget.")
        self.first = plans

    def _planned(self, multiple: Fraction) -> Plans:
        return tuple(
            self._plan_member(number, self._spend(part * multiple)) for number, part in enumerate(self._asked.shares)
        )

    def _at(self, multiple: Fraction) -> Plans | None:
        try:
            plans = self._planned(multiple)
        except ParameterError:
            return None
        return plans if _fits(self._asked, plans) else None

    def best(self) -> Plans:
        """Doubled while that fits, then halved in between; every answer was judged by the definition itself."""
        plans = self.first
        if "delta" not in self._asked.definition.amounts:
            # Sums of epsilon and of rho are exact: there is nothing to gain.
            return plans
        low, high = Fraction(1), Fraction(2)
        while high <= _MOST_RAISED and (more := self._at(high)) is not None:
            low, high, plans = high, 2 * high, more

        def fits(multiple: Fraction) -> bool:
            nonlocal plans
            more = self._at(multiple)
            plans = plans if more is None else more
            return more is not None

        narrow(fits, low, high, halvings=_HALVINGS)
        return plans


def _profiles(plans: Sequence[TablePlan], neighbours: Neighbours) -> list[PrivacyProfile]:
    return [step.profile(neighbours) for plan in plans for step in plan.measurements]


def _fits(asked: BatchAsked, plans: Plans) -> bool:
    try:
        return asked.definition.fits(_profiles(plans, asked.neighbours), asked.budget)
    except TooLarge:
        return False


def _score(plans: Plans) -> float:
    """How noisy the tables are together: the product of their variances, as far as they are known.

    Sums of an estimate may be measured in other units in another currency, so that its own predicted error counts.
    """
    return sum(_log_variance(plan) for plan in plans)


def _log_variance(plan: TablePlan) -> float:
    error = float(plan.preview.get("std_error", nan)) if is_estimate(plan.law) else nan
    if isfinite(error):
        return 2 * log(max(error, 1e-6))
    laws = [step.law for step in plan.measurements if isinstance(step.law, Additive)]
    return sum(log(max(law.variance, 1e-12)) / len(laws) for law in laws)


def batch_of(asked: BatchAsked, plans: Plans) -> BatchPlan:
    """The plans as one, reserved at the price of one event."""
    for plan in plans:
        if isinstance(plan, TwoStepPlan):
            raise Unsupported(
                f"A batch is fixed in advance, and the second step of {plan.strategy!r} depends on the answer of its "
                "first. Ask for that table by itself.",
                strategy=plan.strategy,
            )
    profiles = _profiles(plans, asked.neighbours)
    single = in_sequence((profile.cost() for profile in profiles), profiles[0].relation)
    price = compose(profiles, asked.budget.delta)
    if price.rho > (1 - _WORTH) * single.rho:
        price = single
    mechanisms = dict.fromkeys(name for plan in plans for name in plan.mechanism.split(", "))
    weakest = max((plan.evidence for plan in plans), key=lambda e: list(Level).index(e.level))
    return BatchPlan(
        measurements=tuple(step for plan in plans for step in plan.measurements),
        assemble=lambda blocks: _assembled(plans, blocks),
        law=BATCH,
        reservation=price,
        budget=asked.budget,
        mechanism=", ".join(mechanisms),
        strategy="batch",
        evidence=weakest,
        neighbours=asked.neighbours,
        account=asked.definition.account,
        preview=_preview(plans, asked, price, single),
        warnings=tuple(dict.fromkeys(warning for plan in plans for warning in plan.warnings)),
        advice=tuple(dict.fromkeys(said for plan in plans for said in plan.advice)),
        parts=plans,
        single=single,
    )


def _assembled(plans: Plans, blocks: tuple[Block, ...]) -> tuple[Table, ...]:
    tables: list[Table] = []
    for plan in plans:
        own, blocks = blocks[: len(plan.measurements)], blocks[len(plan.measurements) :]
        tables += plan.assemble(own)
    return tuple(tables)


def _preview(plans: Plans, asked: BatchAsked, cost: Cost, single: Cost) -> dict[str, Any]:
    """Each table's own preview, and the cost of the whole beside the sum of what its tables would cost."""
    cells = [plan.preview.get("cells") for plan in plans]
    return {
        "cells": sum(int(number or 0) for number in cells),
        "tables": [
            {"share": str(part), "mechanism": plan.mechanism, **plan.preview}
            for part, plan in zip(asked.shares, plans, strict=True)
        ],
        "cost": cost.to_dict(),
        "sum_of_single_costs": single.to_dict(),
        **_one_by_one(plans, asked),
    }


def _one_by_one(plans: Plans, asked: BatchAsked) -> dict[str, Any]:
    """The epsilon that the same tables with the same noise would state together if each were released by itself."""
    epsilon, delta = asked.budget.epsilon, asked.budget.delta
    if epsilon is None or delta is None:
        return {}
    total = Fraction(0)
    for plan, part in zip(plans, asked.shares, strict=True):
        profiles = [step.profile(asked.neighbours) for step in plan.measurements]
        alone = replace(asked.budget, delta=delta * part)
        total += _least_epsilon(asked.definition, profiles, alone, epsilon * _MOST_RAISED)
    return {"epsilon_one_by_one": float(total)}


def _least_epsilon(
    definition: Definition, profiles: Sequence[PrivacyProfile], budget: Budget, most: Fraction
) -> Fraction:
    """The least epsilon that profiles fit at the budget's delta, to 12 bits of the largest one that is looked at."""
    return narrow(
        lambda epsilon: definition.fits(profiles, replace(budget, epsilon=epsilon)),
        inside=most,
        outside=Fraction(0),
        halvings=12,
    ).inside
