"""Batches: steps whose parameters are all fixed in advance, accounted by their loss distribution, charged as one event.

Guarantee
    (epsilon, delta) of the whole batch, by numerical composition with pessimistic estimates: never below the truth
    but for the rounding of floats, which is covered by a margin. The charge is the rho that the exact loss distribution of the
    whole batch has outside an event of probability delta, in integers rounded up (`exact/approximate_concentrated.py`).
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
from itertools import pairwise
from typing import Any

from dalenius.core import registry
from dalenius.core.budget import Cost
from dalenius.core.conversions import discrete_laplace_to_rho, laplace_to_rho, pure_to_rho
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import exp_enclosure, float_lower, float_upper, rational, round_up, sqrt_upper
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.exact.approximate_concentrated import rho_of
from dalenius.exact.loss import BITS, LossDistribution, is_symmetric, of_shift, of_statement
from dalenius.ledger.composition import epsilon_at

_MARGIN = Fraction(1, 10**9)
_INTEGERS = ("limit", "packed", "terms")
# Steps between the two ends of the loss of continuous Laplace noise.
_PARTS = 256

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


def _of_laplace(event: Event) -> LossDistribution:
    """Continuous Laplace noise: the loss falls from epsilon to -epsilon between the two centres, in steps rounded up."""
    epsilon, one = _positive(event, "epsilon"), 1 << BITS
    falls = [exp_enclosure(-epsilon * j / _PARTS, BITS) for j in range(_PARTS + 1)]
    between = [max(high[1] - low[0], 0) // 2 + 1 for high, low in pairwise(falls)]
    # The part that begins at the first centre has the largest loss, as everything before it.
    masses = [falls[-1][1] // 2 + 1, *between[:0:-1], between[0] + one // 2]
    return LossDistribution(2 * epsilon / _PARTS, -_PARTS // 2, tuple(masses))


def _of_noise(event: Event, parameter: str, name: str) -> LossDistribution:
    """Integer noise of the mechanism that the kind names."""
    law = registry.get("mechanisms", event["kind"])(**{parameter: _positive(event, name)})
    return of_shift(law, _whole(event, "shift"))


def _of_law(event: Event) -> LossDistribution:
    """Integer noise of a named mechanism with its own parameters; the same loss for both orders of the neighbours."""
    name, parameters = event.get("mechanism"), event.get("parameters")
    if name not in registry.names("mechanisms") or not isinstance(parameters, Mapping):
        raise ParameterError("An event of kind 'noise' names a mechanism and its parameters.")
    exact = {key: rational(value, key) for key, value in parameters.items()}
    law = registry.get("mechanisms", name)(
        **{key: int(value) if key in _INTEGERS else value for key, value in exact.items()}
    )
    if not is_symmetric(law):
        raise Unsupported(f"The noise {name!r} is not symmetric; its two losses differ.")
    return of_shift(law, _whole(event, "shift"))


def _of_law_alone(event: Event) -> tuple[Fraction, Fraction, Fraction | None]:
    """rho and failure probability of one step, from its own loss."""
    loss = _of_law(event)
    failure = Fraction(loss.infinite, 1 << BITS)
    return (*rho_of(loss, failure), None)


_LISTED: dict[str, Callable[[Event], LossDistribution]] = {
    "pure": lambda e: of_statement(_number(e, "epsilon")),
    "approximate": lambda e: of_statement(_number(e, "epsilon"), _number(e, "delta")),
    "laplace": _of_laplace,
    "discrete_laplace": lambda e: _of_noise(e, "rate", "rate"),
    "discrete_gaussian": lambda e: _of_noise(e, "sigma_squared", "variance"),
    "noise": _of_law,
}


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
    "noise": _of_law_alone,
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
    gaussian (variance, shift_squared), discrete_gaussian (variance, shift), noise (mechanism, parameters, shift); each with
    `times`. Integer noise of a finite range is the kind that gains most: its steps fail together, and are charged together.
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

    def cost(self, delta: object = 0) -> Cost:
        """What the master account is charged for all events as one: never more than the sum of their own charges.

        Without a failure probability it is that sum. With one, `delta`, it is the least rho that the loss distribution of the
        whole batch has outside an event of that probability; the failures that events state themselves are part of it.
        """
        whole, failure = self._sum(), rational(delta, "delta")
        if not 0 <= failure < 1:
            raise ParameterError(f"delta must be at least 0 and below 1; received {delta!r}.", name="delta")
        if not failure or whole.delta > failure:
            return whole
        try:
            rho, used = rho_of(self._listed(), failure)
        except TooLarge:
            return whole
        # Gaussian events have no failure to gain from beyond their rho: it is added to that of the others.
        rho += sum(
            (_times(e) * _RHO[e["kind"]](e)[0] for e in self.events if e["kind"] == "gaussian"), Fraction(0)
        )
        if rho >= whole.rho:
            return whole
        return Cost(relation=self.relation, rho=rho, delta=used, epsilon=None if used else whole.epsilon)

    def _listed(self) -> LossDistribution:
        """The exact loss distribution of all events but the continuous Gaussian ones, every loss rounded up."""
        parts = [_LISTED[e["kind"]](e).times(_times(e)) for e in self.events if e["kind"] in _LISTED]
        return reduce(LossDistribution.beside, parts, of_statement(Fraction(0)))

    def _sum(self) -> Cost:
        """The sum of what each event is charged alone."""
        rho = delta = Fraction(0)
        pure: Fraction | None = Fraction(0)
        for event in self.events:
            one_rho, one_delta, one_pure = _RHO[event["kind"]](event)
            times = _times(event)
            rho, delta = rho + times * one_rho, delta + times * one_delta
            pure = None if pure is None or one_pure is None else pure + times * one_pure
        return Cost(relation=self.relation, rho=rho, delta=delta, epsilon=pure)

    @property
    def _is_listed(self) -> bool:
        """Whether some event has an exact loss only; then no event may be continuous."""
        kinds = {event["kind"] for event in self.events}
        if "noise" in kinds and "gaussian" in kinds:
            raise Unsupported(
                "Named integer noise and continuous Gaussian noise have no common statement here."
            )
        return "noise" in kinds

    def _composed(self) -> Any:
        losses = [_loss(event, self.interval).self_compose(_times(event)) for event in self.events]
        return reduce(lambda left, right: left.compose(right), losses)

    def epsilon(self, delta: object) -> Fraction:
        """epsilon of the whole batch at this delta, rounded up."""
        if not self.events:
            return Fraction(0)
        if self._is_listed:
            return epsilon_at(self._listed(), rational(delta, "delta"))
        value = self._composed().get_epsilon_for_delta(float_lower(rational(delta, "delta")))
        if value == float("inf"):
            raise ParameterError("These events fail more often than delta, at any epsilon.")
        return round_up(rational(float(value)) * (1 + _MARGIN), 10**9)

    def delta(self, epsilon: object) -> Fraction:
        """delta of the whole batch at this epsilon, rounded up."""
        if not self.events:
            return Fraction(0)
        if self._is_listed:
            return self._listed().delta(rational(epsilon, "epsilon"))
        value = self._composed().get_delta_for_epsilon(float_lower(rational(epsilon, "epsilon")))
        return min(Fraction(1), Fraction(float(value)) * (1 + _MARGIN))


def events_of(bodies: Sequence[Mapping[str, Any]]) -> tuple[Event, ...]:
    """The events that ledger lines recorded, in order."""
    return tuple(event for body in bodies for event in body.get("events", ()))
