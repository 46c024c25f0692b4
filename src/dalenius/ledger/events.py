"""Events: what was done, in terms from which a loss distribution can be computed, and those distributions.

The ledger line of a charge may state what noise was added and how far one unit can move it. Composed as a fixed plan,
such events give a sharper bound than the rho that was charged, which covers the worst distribution of that rho. Losses
are exact integers, rounded up; lines without events keep what they state, a pure epsilon or a rho.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

from dalenius.core import registry
from dalenius.core.profile import PrivacyProfile, Shift
from dalenius.core.rationals import exp_enclosure, plain, rational
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.exact.loss import BITS, LossDistribution, is_symmetric, of_shift, of_statement

_INTEGERS = ("limit", "packed", "terms")
# Steps between the two ends of the loss of continuous Laplace noise.
_PARTS = 256

Event = Mapping[str, Any]


def number_of(event: Event, name: str) -> Fraction:
    if name not in event:
        raise ParameterError(f"An event of kind {event.get('kind')!r} needs {name!r}.")
    number = rational(event[name], name)
    if number < 0:
        raise ParameterError(f"{name} must not be negative; received {event[name]!r}.")
    return number


def whole_of(event: Event, name: str) -> int:
    """Return an integer; refuses a fraction, because truncating it would report too little."""
    number = number_of(event, name)
    if number.denominator != 1:
        raise ParameterError(f"{name} must be a whole number; received {event[name]!r}.")
    return int(number)


def positive_of(event: Event, name: str) -> Fraction:
    number = number_of(event, name)
    if not number:
        raise ParameterError(f"{name} must be positive.")
    return number


def times_of(event: Event) -> int:
    times = whole_of({"times": 1} | dict(event), "times")
    if times < 1:
        raise ParameterError(f"times must be at least 1; received {times}.")
    return times


def _of_laplace(event: Event) -> LossDistribution:
    """Continuous Laplace noise: the loss falls from epsilon to -epsilon between the centres, rounded up."""
    epsilon, one = positive_of(event, "epsilon"), 1 << BITS
    falls = [exp_enclosure(-epsilon * j / _PARTS, BITS) for j in range(_PARTS + 1)]
    between = [max(high[1] - low[0], 0) // 2 + 1 for high, low in pairwise(falls)]
    # The part that begins at the first centre has the largest loss, as everything before it.
    masses = [falls[-1][1] // 2 + 1, *between[:0:-1], between[0] + one // 2]
    return LossDistribution(2 * epsilon / _PARTS, -_PARTS // 2, tuple(masses))


def _of_noise(event: Event, parameter: str, name: str) -> LossDistribution:
    law = registry.get("mechanisms", event["kind"])(**{parameter: positive_of(event, name)})
    return of_shift(law, whole_of(event, "shift"))


def loss_of_law(event: Event) -> LossDistribution:
    """Integer noise of a named mechanism with its own parameters; the same loss for both orders of the neighbours."""
    name, parameters = event.get("mechanism"), event.get("parameters")
    if name not in registry.names("mechanisms") or not isinstance(parameters, Mapping):
        raise ParameterError("An event of kind 'noise' names a mechanism and its parameters.")
    exact = {key: rational(value, key) for key, value in parameters.items()}
    typed = {key: int(value) if key in _INTEGERS else value for key, value in exact.items()}
    law = registry.get("mechanisms", name)(**typed)
    if not is_symmetric(law):
        raise Unsupported(f"The noise {name!r} is not symmetric; its two losses differ.")
    return of_shift(law, whole_of(event, "shift"))


LISTED: dict[str, Callable[[Event], LossDistribution]] = {
    "pure": lambda e: of_statement(number_of(e, "epsilon")),
    "approximate": lambda e: of_statement(number_of(e, "epsilon"), number_of(e, "delta")),
    "laplace": _of_laplace,
    "discrete_laplace": lambda e: _of_noise(e, "rate", "rate"),
    "discrete_gaussian": lambda e: _of_noise(e, "sigma_squared", "variance"),
    "noise": loss_of_law,
}


def events_in(profiles: Sequence[PrivacyProfile]) -> tuple[Event, ...]:
    """Return steps of symmetric named noise with one worst move each as events; none if any step is something else."""
    shifts: list[Shift] = []
    for profile in profiles:
        every = [shift for move in profile.shifts for shift in move]
        # The move that contains all others cell by cell, and so loses most.
        for move in profile.shifts:
            if all(any(s.law == o.law and s.size == o.size and s.times >= o.times for s in move) for o in every):
                shifts += move
                break
        else:
            return ()
    return tuple(map(_event, shifts)) if all(map(_is_named, shifts)) else ()


def _event(shift: Shift) -> Event:
    parameters = {name: plain(Fraction(value)) for name, value in shift.law.parameters.items()}
    noise = {"kind": "noise", "mechanism": shift.law.name, "parameters": parameters}
    return noise | {"shift": abs(shift.size), "times": shift.times}


def _is_named(shift: Shift) -> bool:
    """Whether an event can name the noise: the project makes the same distribution from the same parameters.

    Noise of another distribution is not named: a ledger is read where that is not installed.
    """
    name = shift.law.name
    is_own = name in registry.names("mechanisms") and registry.origin("mechanisms", name) is None
    if not is_own or not is_symmetric(shift.law):
        return False
    return bool(registry.get("mechanisms", name)(**shift.law.parameters) == shift.law)


def events_of_charge(body: Mapping[str, Any]) -> tuple[Event, ...] | None:
    """Return the events of a charge's line, or its pure epsilon as one; None where it states a rho alone."""
    if body.get("events"):
        return tuple(body["events"])
    cost = body["cost"]
    if cost["epsilon"] is not None:
        return ({"kind": "pure", "epsilon": cost["epsilon"]},)
    return None


def loss_of(events: Iterable[Event], most: int | None = None) -> LossDistribution:
    """Return the exact worst loss of events fixed in advance, all of integer noise or pure.

    Equal ones are composed together; refuses more than `most` different ones.
    """
    alike: Counter[str] = Counter()
    for event in events:
        words = {name: value for name, value in event.items() if name != "times"}
        alike[json.dumps(words, sort_keys=True, default=str)] += times_of(event)
    if most is not None and len(alike) > most:
        raise TooLarge("The events are of too many kinds for an exact loss distribution.")
    different = [(json.loads(words), times) for words, times in sorted(alike.items())]
    parts = (LISTED[event["kind"]](event).times(times) for event, times in different)
    return reduce(LossDistribution.beside, parts, of_statement(Fraction(0)))
