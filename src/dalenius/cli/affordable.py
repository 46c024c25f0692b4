"""After a refusal for want of budget: what is left, and the largest amount of the request's own kind that would be paid.

The command line reads the ledger of its custodian; the server never shows this to an analyst.
"""

from bisect import bisect_left
from fractions import Fraction
from typing import TYPE_CHECKING

from dalenius.errors import BudgetError, BudgetExhausted, DaleniusError, QuotaExhausted

if TYPE_CHECKING:
    from dalenius.curator.curator import Curator
    from dalenius.spec.batch import Asked

_SMALLEST = -6


def with_advice(
    refusal: BudgetError, curator: "Curator", document: "Asked", analyst: str, is_official: bool
) -> BudgetError:
    """The same refusal, which now says what would fit. Free: plans and quotes, never data."""
    if not isinstance(refusal, BudgetExhausted | QuotaExhausted):
        return refusal
    unit = "rho" if document.privacy.rho is not None else "epsilon"
    amounts = _below(getattr(document.privacy, unit))

    def is_too_much(amount: Fraction) -> bool:
        privacy = document.privacy.model_copy(update={unit: amount})
        asked = document.model_copy(update={"privacy": privacy})
        try:
            curator.quote(asked, analyst=analyst, is_official=is_official)
        except DaleniusError:
            return True
        return False

    place = bisect_left(amounts, True, key=is_too_much)
    left = curator.ledger.account(curator.domain.population).left
    advice = f" Left of the whole budget: rho {float(left.rho):.6g}, delta {float(left.delta):.3g}."
    if place:
        advice += f" This request with {unit} = {float(amounts[place - 1]):g} would be paid."
    else:
        advice += f" No {unit} down to {float(10**_SMALLEST):g} would be paid."
    return type(refusal)(refusal.message + advice, **refusal.detail)


def _below(amount: Fraction) -> list[Fraction]:
    """Amounts of two digits below one, smallest first."""
    steps = [Fraction(m) * Fraction(10) ** e for e in range(_SMALLEST - 1, 3) for m in range(10, 100)]
    return [step for step in steps if step < amount]
