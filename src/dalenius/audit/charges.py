"""The exact loss between two neighbours, relative to the guarantee of a plan and to what its account is charged."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

from dalenius.audit.losses import Divergence
from dalenius.core.budget import Budget
from dalenius.core.conversions import rho_to_delta
from dalenius.core.plan import TablePlan

ORDERS = (1.01, 1.1, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
# A ratio up to this is no more than rounding.
ALLOWED = 1 + 1e-7


def ratio_of(plan: TablePlan, pair: Any, *, is_booked: bool = True) -> float:
    """The largest loss over both directions, relative to the guarantee of the request and to the charge of the account.

    The account is about one unit, also where the guarantee is made to a group: a pair of groups is compared with the
    guarantee alone.
    """
    both: tuple[Divergence, Divergence] = (pair, pair.reversed())
    return max(max(_guaranteed(plan.budget, one), _booked(plan, one) if is_booked else 0.0) for one in both)


def _guaranteed(budget: Budget, pair: Divergence) -> float:
    if budget.rho is not None:
        return _concentrated(pair, budget.rho, budget.delta or Fraction(0))
    if budget.delta is None:
        return pair.largest() / float(_amount(budget.epsilon))
    epsilon, delta = float(_amount(budget.epsilon)), float(_amount(budget.delta))
    shown = pair.beyond(epsilon) if budget.definition == "probabilistic" else pair.delta(epsilon)
    return max(shown - 1e-13, 0.0) / delta


def _booked(plan: TablePlan, pair: Divergence) -> float:
    cost = plan.reservation
    pure = 0.0 if cost.epsilon is None else pair.largest() / float(cost.epsilon)
    return max(pure, _concentrated(pair, cost.rho, cost.delta))


def _concentrated(pair: Divergence, rho: Fraction, delta: Fraction) -> float:
    """Divergences at many orders; beside a delta, what (rho, delta) implies at many epsilons."""
    if not delta:
        return max(pair.renyi(a) / (a * float(rho)) for a in ORDERS)
    implied = zip(EPSILONS, _implied(rho, delta), strict=True)
    return max(max(pair.delta(e) - 1e-13, 0.0) / most for e, most in implied)


@lru_cache(maxsize=64)
def _implied(rho: Fraction, delta: Fraction) -> tuple[float, ...]:
    return tuple(float(delta) + float(rho_to_delta(rho, Fraction(e))) for e in EPSILONS)


def _amount(amount: Fraction | None) -> Fraction:
    assert amount is not None
    return amount
