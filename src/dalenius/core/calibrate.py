"""The least noise that fits: the smallest member of a mechanism family whose profile stays within a budget.

Closed forms are tried first and always verified. Otherwise the size is found by bisection on rationals with a short
numerator and denominator. The search may stop a little short of the best member; what it returns was verified to fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition, Mechanism, Screening, Tailored
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.search import narrow
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, TooLarge, Unsupported

PRECISION_BITS = 13
Fits = Callable[[Sequence[PrivacyProfile], Budget], bool]
_LARGEST = Fraction(10**6)
_MOST_HALVINGS = 80
_FEW_HALVINGS = 6


@dataclass(frozen=True)
class StatedFamily:
    """A family in which a request stated some parameters; the size is what remains."""

    name: str
    family: Callable[[Fraction, Budget], Mechanism]
    guesses: Callable[[Sensitivity, Budget], Sequence[Fraction]]


def calibrate(
    mechanism: type[Any] | StatedFamily,
    sensitivity: Sensitivity,
    relation: Relation,
    definition: Definition,
    budget: Budget,
) -> Mechanism:
    """The member of `mechanism` with the least noise whose profile fits the budget under the definition.

    A `Tailored` mechanism, whose other parameters depend on the sensitivity, is asked by `tailored` in place of
    `family`.
    """
    for name in definition.amounts:
        if budget.amounts[name] is None:
            raise ParameterError(f"The definition {definition.name!r} needs {name}.", name=name)

    def member(fits: Fits, size: Fraction) -> Mechanism | None:
        try:
            made: Mechanism = (
                mechanism.tailored(size, budget, sensitivity)
                if isinstance(mechanism, type) and issubclass(mechanism, Tailored)
                else mechanism.family(size, budget)
            )
        except (ParameterError, TooLarge):
            return None
        return made if fits([made.profile(sensitivity, relation)], budget) else None

    if not sensitivity.l1 and not sensitivity.linf:
        raise Unsupported(
            "These answers do not depend on any unit: there is nothing to protect and nothing to calibrate."
        )
    guesses = list(mechanism.guesses(sensitivity, budget))
    likely: Fits = definition.likely_fits if isinstance(definition, Screening) else definition.fits
    # Within a stated range smaller sizes give more away at the ends: a search far below the guesses finds nothing.
    halvings = _FEW_HALVINGS if isinstance(mechanism, StatedFamily) else _MOST_HALVINGS
    fitting = _search(partial(member, likely), guesses, halvings)
    # Whatever led there, what is kept was judged by the definition itself.
    if fitting is not None and not definition.fits([fitting.profile(sensitivity, relation)], budget):
        fitting = _search(partial(member, definition.fits), guesses, halvings)
    if fitting is None:
        amounts = ", ".join(f"{name} = {text}" for name, text in budget.to_dict().items() if name != "definition")
        raise Unsupported(
            f"No member of {mechanism.name} fits {amounts} at this sensitivity.",
            mechanism=mechanism.name,
            definition=definition.name,
        )
    return fitting


def _search(member: Callable[[Fraction], Mechanism | None], guesses: list[Fraction], halvings: int) -> Mechanism | None:
    """Bracket the largest size that fits, starting from the guesses, and bisect."""
    best: Mechanism | None = None
    low = high = Fraction(0)
    for guess in sorted(set(guesses), reverse=True):
        best = member(guess)
        if best is not None:
            low = guess
            break
        high = guess
    if best is None:
        low = min(guesses, default=Fraction(1))
        for _ in range(halvings):
            low, high = low / 2, low
            best = member(low)
            if best is not None:
                break
        else:
            return None
    elif not high:
        # Often the closed form is the answer, and a little more no longer fits.
        high = low * (1 + Fraction(1, 1 << PRECISION_BITS))
        if member(high) is None:
            return best
        high = low * 2
        while high <= _LARGEST and (better := member(high)) is not None:
            low, high, best = high, high * 2, better
        if high > _LARGEST:
            return best

    def fits(size: Fraction) -> bool:
        nonlocal best
        better = member(size)
        best = best if better is None else better
        return better is not None

    narrow(
        fits,
        low,
        high,
        until=lambda low, high: high - low <= low / (1 << PRECISION_BITS),
        between=lambda low, high: _short((low + high) / 2),
    )
    return best


def _short(x: Fraction) -> Fraction:
    """x rounded down to some two dozen significant bits."""
    shift = x.denominator.bit_length() - x.numerator.bit_length() + PRECISION_BITS + 8
    scaled = x * Fraction(2) ** shift
    return Fraction(scaled.numerator // scaled.denominator) / Fraction(2) ** shift
