"""Batches: steps whose parameters are all fixed in advance, accounted by their loss distribution, charged as one event.

Guarantee
    (epsilon, delta) of the whole batch, by numerical composition with pessimistic estimates: never below the truth
    but for the rounding of floats, which is covered by a margin.
Requires
    Every parameter is fixed before the first answer is seen. A batch is not a filter: parameters chosen from
    earlier answers are charged to the master account one by one.
Noise
    That of its events.
Evidence
    Computed by the package dp-accounting; events of unknown kind are refused.
References
    Koskela, Jaelkoe & Honkela (2020); Doroshenko, Ghazi, Kamath, Kumar & Manurangsi (2022).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from dalenius.core.budget import Cost
from dalenius.core.conversions import discrete_laplace_to_rho, laplace_to_rho, pure_to_rho
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import float_lower, float_upper, rational, round_up, sqrt_upper
from dalenius.errors import ParameterError, Unsupported

_MARGIN = Fraction(1, 10**9)

Event = Mapping[str, Any]


def _number(event: Event, name: str) -> Fraction:
    if name not in event:
        raise ParameterError(f"An event of kind {event.get('kind')!r} needs {name!r}.")
    amount = rational(event[name], name)
    if amount < 0:
        raise ParameterError(f"{name} must not be negative; received {event[name]!r}.")
    return amount


def _whole(event: Event, name: str) -> int:
    """An integer; a fraction is refused, because cutting it off would report too little."""
    amount = _number(event, name)
    if amount.denominator != 1:
        raise ParameterError(f"{name} must be a whole number; received {event[name]!r}.")
    return int(amount)


def _positive(event: Event, name: str) -> Fraction:
    amount = _number(event, name)
    if not amount:
        raise ParameterError(f"{name} must be positive.")
    return amount


def _times(event: Event) -> int:
    times = _whole({"times": 1} | dict(event), "times")
    if times < 1:
        raise ParameterError(f"times must be at least 1; received {times}.")
    return times


def _sigma(event: Event) -> float:
    """The standard deviation, rounded down."""
    variance = _positive(event, "variance")
    return float_lower(1 / sqrt_upper(1 / variance, 80))


# Each kind: its zero-concentrated rho and failure probability, and its loss distribution.
_RHO: dict[str, Callable[[Event], tuple[Fraction, Fraction, Fraction | None]]] = {
    "pure": lambda e: (pure_to_rho(_number(e, "epsilon")), Fraction(0), _number(e, "epsilon")),
    "approximate": lambda e: (pure_to_rho(_number(e, "epsilon")), _number(e, "delta"), None),
    "laplace": lambda e: (laplace_to_rho(_positive(e, "epsilon")), Fraction(0), _number(e, "epsilon")),
    "discrete_laplace": lambda e: (
        discrete_laplace_to_rho(_number(e, "rate"), _whole(e, "shift")),
        Fraction(0),
        _number(e, "rate") * _whole(e, "shift"),
    ),
    "gaussian": lambda e: (_number(e, "shift_squared") / (2 * _positive(e, "variance")), Fraction(0), None),
    "discrete_gaussian": lambda e: (
        _whole(e, "shift") ** 2 / (2 * _positive(e, "variance")),
        Fraction(0),
        None,
    ),
}


def _loss(event: Event, interval: float) -> Any:
    """The event's pessimistic loss distribution, once."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    options = {"value_discretization_interval": interval}
    match event["kind"]:
        case "pure" | "approximate":
            delta = _number(event, "delta") if event["kind"] == "approximate" else Fraction(0)
            stated = common.DifferentialPrivacyParameters(
                float_upper(_number(event, "epsilon")), float_upper(delta)
            )
            return pld.from_privacy_parameters(stated, **options)
        case "laplace":
            scale = float_lower(1 / _number(event, "epsilon"))
            return pld.from_laplace_mechanism(scale, pessimistic_estimate=True, **options)
        case "discrete_laplace":
            return pld.from_discrete_laplace_mechanism(
                float_upper(_number(event, "rate")),
                sensitivity=_whole(event, "shift"),
                pessimistic_estimate=True,
                **options,
            )
        case "gaussian":
            shift = float_upper(sqrt_upper(_number(event, "shift_squared"), 80))
            return pld.from_gaussian_mechanism(
                _sigma(event), sensitivity=shift, pessimistic_estimate=True, **options
            )
        case _:
            return pld.from_discrete_gaussian_mechanism(
                _sigma(event), sensitivity=_whole(event, "shift"), pessimistic_estimate=True, **options
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A fixed list of events, such as `{"kind": "discrete_laplace", "rate": "0.1", "shift": 1, "times": 50}`.

    kinds: pure (epsilon), approximate (epsilon, delta), laplace (epsilon), discrete_laplace (rate, shift),
    gaussian (variance, shift_squared), discrete_gaussian (variance, shift); each with `times`.
    """

    events: tuple[Event, ...]
    relation: Relation = Relation.ADD_REMOVE
    interval: float = 1e-4

    def __post_init__(self) -> None:
        for event in self.events:
            if event.get("kind") not in _RHO:
                raise Unsupported(
                    f"An event of kind {event.get('kind')!r} has no known loss; known: {', '.join(_RHO)}."
                )
            _RHO[event["kind"]](event)
            _times(event)

    def cost(self) -> Cost:
        """What the master account is charged: the sum, as one event; the batch's own statement may be tighter."""
        rho = delta = Fraction(0)
        pure: Fraction | None = Fraction(0)
        for event in self.events:
            one_rho, one_delta, one_pure = _RHO[event["kind"]](event)
            times = _times(event)
            rho, delta = rho + times * one_rho, delta + times * one_delta
            pure = None if pure is None or one_pure is None else pure + times * one_pure
        return Cost(relation=self.relation, rho=rho, delta=delta, epsilon=pure)

    def _composed(self) -> Any:
        losses = [_loss(event, self.interval).self_compose(_times(event)) for event in self.events]
        return reduce(lambda left, right: left.compose(right), losses)

    def epsilon(self, delta: object) -> Fraction:
        """epsilon of the whole batch at this delta, rounded up."""
        if not self.events:
            return Fraction(0)
        value = self._composed().get_epsilon_for_delta(float_lower(rational(delta, "delta")))
        if value == float("inf"):
            raise ParameterError("These events fail more often than delta, at any epsilon.")
        return round_up(rational(float(value)) * (1 + _MARGIN), 10**9)

    def delta(self, epsilon: object) -> Fraction:
        """delta of the whole batch at this epsilon, rounded up."""
        if not self.events:
            return Fraction(0)
        value = self._composed().get_delta_for_epsilon(float_lower(rational(epsilon, "epsilon")))
        return min(Fraction(1), Fraction(float(value)) * (1 + _MARGIN))


def events_of(bodies: Sequence[Mapping[str, Any]]) -> tuple[Event, ...]:
    """The events that ledger lines recorded, in order."""
    return tuple(event for body in bodies for event in body.get("events", ()))
