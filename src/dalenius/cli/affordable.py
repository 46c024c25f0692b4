"""After a refusal for want of budget: what is left, and the largest amount of the request's own kind that would be
paid.

The command line reads the ledger of its custodian; the server never shows this to an analyst.
"""

from bisect import bisect_left
from fractions import Fraction

from dalenius.curator.curator import Curator
from dalenius.errors import BudgetError, BudgetExhausted, DaleniusError, QuotaExhausted
from dalenius.spec.batch import Asked

_SMALLEST = -6


def with_advice(
    refusal: BudgetError, curator: Curator, document: Asked, analyst: str, is_official: bool
) -> BudgetError:
    """The same refusal, which now says what would fit. Free: plans and quotes, never data."""
    if not isinstance(refusal, BudgetExhausted | QuotaExhausted):
        return refusal
    unit = "rho" if document.privacy.rho is not None else "epsilon"
    # Amounts of two digits below the one that was refused, smallest first.
    every = (Fraction(m) * Fraction(10) ** e for e in range(_SMALLEST - 1, 3) for m in range(10, 100))
    amounts = [amount for amount in every if amount < getattr(document.privacy, unit)]

    def refusal_of(amount: Fraction) -> DaleniusError | None:
        privacy = document.privacy.model_copy(update={unit: amount})
        asked = document.model_copy(update={"privacy": privacy})
        try:
            curator.quote(asked, analyst=analyst, is_official=is_official)
        except DaleniusError as error:
            return error
        return None

    # An amount that no noise is wide enough for is refused too, but it is too little, not too much.
    place = bisect_left(amounts, True, key=lambda amount: isinstance(refusal_of(amount), BudgetError))
    left = curator.ledger.reader.account(curator.domain.population).left
    advice = f" Left of the whole budget: rho {float(left.rho):.6g}, delta {float(left.delta):.3g}."
    if place and refusal_of(amounts[place - 1]) is None:
        advice += f" This request with {unit} = {float(amounts[place - 1]):g} would be paid."
    else:
        advice += f" No smaller {unit} would be paid and served."
        if (document.privacy.delta or 0) > left.delta:
            advice += f" Its delta alone is more than is left: use one of at most {float(left.delta):.3g}."
    return type(refusal)(refusal.message + advice, **refusal.detail)
