"""Batches: steps whose parameters are all fixed in advance, accounted by their loss distribution, charged as one event.

Guarantee
    (epsilon, delta) of the whole batch, by numerical composition with pessimistic estimates: never below the truth but
    for the rounding of floats, which is covered by a margin. The charge is the rho that the exact loss distribution of
    the whole batch has outside an event of probability delta, in integers rounded up
    (`exact/approximate_concentrated.py`).
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

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from dalenius.core.budget import Cost
from dalenius.core.conversions import discrete_laplace_to_rho, pure_to_rho
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import float_lower, float_upper, rational, round_up, sqrt_upper
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.exact.approximate_concentrated import rho_of
from dalenius.exact.loss import BITS, LossDistribution
from dalenius.ledger.composition import epsilon_at
from dalenius.ledger.events import LISTED, Event, loss_of, loss_of_law, number_of, positive_of, times_of, whole_of
from dalenius_lab.accounting.conversions import laplace_to_rho

_MARGIN = Fraction(1, 10**9)


def _sigma(event: Event) -> float:
    """The standard deviation, rounded down."""
    variance = positive_of(event, "variance")
    return float_lower(1 / sqrt_upper(1 / variance, 80))


def _of_law_alone(event: Event) -> tuple[Fraction, Fraction, Fraction | None]:
    """rho and failure probability of one step, from its own loss."""
    loss = loss_of_law(event)
    failure = Fraction(loss.infinite, 1 << BITS)
    return (*rho_of(loss, failure), None)


# Each kind: its zero-concentrated rho and failure probability, and its loss distribution.
_RHO: dict[str, Callable[[Event], tuple[Fraction, Fraction, Fraction | None]]] = {
    "pure": lambda e: (pure_to_rho(number_of(e, "epsilon")), Fraction(0), number_of(e, "epsilon")),
    "approximate": lambda e: (pure_to_rho(number_of(e, "epsilon")), number_of(e, "delta"), None),
    "laplace": lambda e: (laplace_to_rho(positive_of(e, "epsilon")), Fraction(0), number_of(e, "epsilon")),
    "discrete_laplace": lambda e: (
        discrete_laplace_to_rho(number_of(e, "rate"), whole_of(e, "shift")),
        Fraction(0),
        number_of(e, "rate") * whole_of(e, "shift"),
    ),
    "gaussian": lambda e: (number_of(e, "shift_squared") / (2 * positive_of(e, "variance")), Fraction(0), None),
    "discrete_gaussian": lambda e: (whole_of(e, "shift") ** 2 / (2 * positive_of(e, "variance")), Fraction(0), None),
    "noise": _of_law_alone,
}


def _loss(event: Event, interval: float) -> Any:
    """The event's pessimistic loss distribution, once."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    options = {"value_discretization_interval": interval}
    match event["kind"]:
        case "pure" | "approximate":
            delta = number_of(event, "delta") if event["kind"] == "approximate" else Fraction(0)
            stated = common.DifferentialPrivacyParameters(float_upper(number_of(event, "epsilon")), float_upper(delta))
            return pld.from_privacy_parameters(stated, **options)
        case "laplace":
            scale = float_lower(1 / number_of(event, "epsilon"))
            return pld.from_laplace_mechanism(scale, pessimistic_estimate=True, **options)
        case "discrete_laplace":
            return pld.from_discrete_laplace_mechanism(
                float_upper(number_of(event, "rate")),
                sensitivity=whole_of(event, "shift"),
                pessimistic_estimate=True,
                **options,
            )
        case "gaussian":
            shift = float_upper(sqrt_upper(number_of(event, "shift_squared"), 80))
            return pld.from_gaussian_mechanism(_sigma(event), sensitivity=shift, pessimistic_estimate=True, **options)
        case _:
            return pld.from_discrete_gaussian_mechanism(
                _sigma(event), sensitivity=whole_of(event, "shift"), pessimistic_estimate=True, **options
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A fixed list of events, such as `{"kind": "discrete_laplace", "rate": "0.1", "shift": 1, "times": 50}`.

    kinds: pure (epsilon), approximate (epsilon, delta), laplace (epsilon), discrete_laplace (rate, shift), gaussian
    (variance, shift_squared), discrete_gaussian (variance, shift), noise (mechanism, parameters, shift); each with
    `times`. Integer noise of a finite range is the kind that gains most: its steps fail together, and are charged
    together.
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
            times_of(event)

    def cost(self, delta: object = 0) -> Cost:
        """What the master account is charged for all events as one: never more than the sum of their own charges.

        Without a failure probability it is that sum. With one, `delta`, it is the least rho that the loss distribution
        of the whole batch has outside an event of that probability; the failures that events state themselves are part
        of it.
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
        rho += sum((times_of(e) * _RHO[e["kind"]](e)[0] for e in self.events if e["kind"] == "gaussian"), Fraction(0))
        if rho >= whole.rho:
            return whole
        return Cost(relation=self.relation, rho=rho, delta=used, epsilon=None if used else whole.epsilon)

    def _listed(self) -> LossDistribution:
        """The exact loss distribution of all events but the continuous Gaussian ones, every loss rounded up."""
        return loss_of(e for e in self.events if e["kind"] in LISTED)

    def _sum(self) -> Cost:
        """The sum of what each event is charged alone."""
        rho = delta = Fraction(0)
        pure: Fraction | None = Fraction(0)
        for event in self.events:
            one_rho, one_delta, one_pure = _RHO[event["kind"]](event)
            times = times_of(event)
            rho, delta = rho + times * one_rho, delta + times * one_delta
            pure = None if pure is None or one_pure is None else pure + times * one_pure
        return Cost(relation=self.relation, rho=rho, delta=delta, epsilon=pure)

    @property
    def _is_listed(self) -> bool:
        """Whether some event has an exact loss only; then no event may be continuous."""
        kinds = {event["kind"] for event in self.events}
        if "noise" in kinds and "gaussian" in kinds:
            raise Unsupported("Named integer noise and continuous Gaussian noise have no common statement here.")
        return "noise" in kinds

    def _composed(self) -> Any:
        losses = [_loss(event, self.interval).self_compose(times_of(event)) for event in self.events]
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
