"""The odometer: what was spent, never the limit, as two named figures, and what they mean in words.

docs/explanation/ledger.md says when each figure is valid and of which bounds it is the smallest.

Running bound. Along any sequence of zero-concentrated steps chosen from the past, with rho spent so far and loss L,
exp(k (L - rho) - k^2 rho) is a supermartingale for each k > 0. Mixed over k with a half-normal density of precision g,
with x = L - rho, v = x / (2 sqrt(rho + g)) and erf(v) >= 1 - exp(-v^2), it is at least sqrt(g / (rho + g)) (2 exp(v^2)
- 1). By Ville's inequality it ever reaches 1/delta with probability at most delta, so L never exceeds rho + 2 sqrt((rho
+ g) log((1 + sqrt((rho + g) / g) / delta) / 2)) but with that probability. A few precisions, each with its share of
delta, serve small and large budgets alike; they are fixed here.

The sharper conversion of rho is not a tail bound, so it serves the fixed plan only. A failure probability that was
charged depends on earlier releases, so the running figure counts every failure that was granted. References: Canonne,
Kamath & Steinke (2020); Kairouz, Oh & Viswanath (2017); Whitehouse, Ramdas, Rogers & Wu (2023).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from dalenius.core.budget import MASTER
from dalenius.core.conversions import rho_to_delta, rho_to_epsilon
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import exp_lower, exp_upper, float_upper, log_upper, plain, round_up, sqrt_upper
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.loss import LossDistribution
from dalenius.ledger.account import Account
from dalenius.ledger.charge import DATA_DEPENDENT
from dalenius.ledger.composition import epsilon_at
from dalenius.ledger.events import Event, loss_of

LEVEL = Fraction(1, 20)
"""Of the test by which an intruder would tell neighbours apart."""
_GRID = 10**6
# Precisions of the half-normal densities, and the share of delta that each is given.
_MIXTURE = ((Fraction(1, 10**4), Fraction(1, 4)), (Fraction(1, 100), Fraction(1, 2)), (Fraction(1), Fraction(1, 4)))
_MOST_KINDS = 64
_NO_BOUND = Fraction(10**6)
_LEAST_RANGE = Fraction(1, 100)
_NEAR = Fraction(99, 100)


def running_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon that the loss ever exceeds with probability at most delta, when rho is spent; rounded up."""
    if not 0 < delta < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1; received {plain(delta)}.")
    if rho == 0:
        return Fraction(0)

    def one(precision: Fraction, share: Fraction) -> Fraction:
        reached = sqrt_upper((rho + precision) / precision) / (delta * share)
        return rho + 2 * sqrt_upper((rho + precision) * log_upper((1 + reached) / 2))

    return round_up(min(one(precision, share) for precision, share in _MIXTURE), _GRID)


def power_of_test(epsilon: Fraction, delta: Fraction, level: Fraction) -> Fraction:
    """Return the largest power of any test of that level between neighbours, under (epsilon, delta)-DP; rounded up."""
    bounds = (Fraction(1), exp_upper(epsilon) * level + delta, 1 - exp_lower(-epsilon) * (1 - delta - level))
    return min(bounds)


def power_under_rho(rho: Fraction, delta: Fraction, level: Fraction) -> Fraction:
    """Return the same under approximate zero-concentrated DP: the best of many valid (epsilon, delta) statements."""
    if rho == 0:
        return min(Fraction(1), level + delta)
    step = max(sqrt_upper(rho) / 8, Fraction(1, 1000)).limit_denominator(1000)
    tried = (round_up(i * step, 1000) for i in range(1, 80))
    return min(power_of_test(e, min(Fraction(1), delta + rho_to_delta(rho, e)), level) for e in tried)


def power_under_loss(loss: LossDistribution, most: Fraction, level: Fraction) -> Fraction:
    """Return the same under a loss distribution, by its statements up to the epsilon `most`."""
    return min(power_of_test(e, loss.delta(e), level) for e in (most * i / 256 for i in range(257)))


def _digits(value: Fraction, digits: int = 4) -> str:
    """Return a few significant digits, rounded up so that words claim no more than numbers do."""
    rounded = Context(prec=digits, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{float(rounded):.{digits}g}"


def _counted(charges: int) -> str:
    return f"{charges:,} charge{'' if charges == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One statement of what was spent: (epsilon, delta), and on what it rests."""

    epsilon: Fraction
    delta: Fraction
    basis: str

    @property
    def odds(self) -> float:
        """Largest factor between the likelihoods of neighbouring data sets, rounded up."""
        return float_upper(exp_upper(self.epsilon))

    @property
    def words(self) -> str:
        return f"({_digits(self.epsilon)}, {_digits(self.delta, 2)})-differentially private"

    def to_dict(self) -> dict[str, Any]:
        stated = {"epsilon": plain(self.epsilon), "delta": plain(self.delta)}
        return stated | {"basis": self.basis, "likelihood_ratio": self.odds}


@dataclass(frozen=True, slots=True, kw_only=True)
class OdometerReading:
    """What the odometer shows of the master account, and how many charges to each other account it does not cover.

    `bounds` holds every epsilon that was compared. `power` is that of the best test at `LEVEL` under the fixed plan.
    """

    fixed: Figure
    running: Figure
    bounds: Mapping[str, Fraction]
    relation: Relation
    power: Fraction
    charges: int = 0
    not_covered: Mapping[str, int] = field(default_factory=dict)

    def sentences(self) -> tuple[str, ...]:
        is_added = self.relation is Relation.ADD_REMOVE
        pair = "whether a person is in the data or not" if is_added else "which of two records a person has"
        further = [(account, charges) for account, charges in self.not_covered.items() if charges]
        others = " and ".join(f"the {account} account ({_counted(charges)})" for account, charges in further)
        if further and not self.charges:
            return (f"Nothing was charged to the master account, and no statement covers {others}.",)
        scope = f"what was charged to the master account ({_counted(self.charges)})"
        # Each sentence may be quoted alone, so each states what it leaves out.
        besides = f"; {others} {'is' if len(further) == 1 else 'are'} not covered" if further else ""
        fixed, running = self.fixed, self.running
        failure = f", but for a probability of {_digits(running.delta, 2)}" if running.delta else ""
        return (
            f"Together {scope} is {fixed.words} as a fixed plan, that is if all requests were decided before the first "
            f"release{besides or '; nothing was charged to another account'}.",
            f"Running bound: {scope} is {running.words} at any time, however requests followed from earlier "
            f"releases{besides}.",
            f"Likelihood ratio: {scope} is at most {_digits(exp_upper(running.epsilon))} times as likely under one "
            f"answer to the question {pair} as under the other{failure}, by the running bound{besides}.",
            f"Best test: an intruder who knows everything else and accepts {float(LEVEL):.0%} false alarms "
            f"recognises the truth from {scope} in at most {float(round_up(self.power, 1000)):.1%} of cases, as a "
            f"fixed plan{besides}.",
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "fixed_plan": self.fixed.to_dict() | {"level": plain(LEVEL), "power": float_upper(self.power)},
            "running": self.running.to_dict(),
            "bounds": {name: plain(value) for name, value in self.bounds.items()},
            "covers": {"account": MASTER, "charges": self.charges},
            "not_covered": {DATA_DEPENDENT: 0} | dict(self.not_covered),
            "words": list(self.sentences()),
        }


def _loss_of(events: Sequence[Event] | None) -> LossDistribution | None:
    """Return the exact worst loss of events fixed in advance; None where they are unknown or of too many kinds."""
    if not events:
        return None
    try:
        return loss_of(events, _MOST_KINDS)
    except TooLarge:
        return None


def read_odometer(
    account: Account, delta: Fraction = Fraction(1, 10**6), events: Sequence[Event] | None = None
) -> OdometerReading:
    """Return what was charged to the master account; `delta` is added to the account's own failures.

    `events` are those of all charges, if a loss distribution is known of every one.
    """
    spent, sum_of_epsilons = account.spent, account.pure
    loss = _loss_of(events)
    by_rho = rho_to_epsilon(spent.rho, delta) if spent.rho else Fraction(0)
    bounds = {"running": running_epsilon(spent.rho, delta), "rho": by_rho}
    power = power_under_rho(spent.rho, spent.delta, LEVEL)
    if sum_of_epsilons is not None:
        bounds["pure"] = sum_of_epsilons
        power = min(power, power_of_test(sum_of_epsilons, Fraction(0), LEVEL))
    failure = delta + spent.delta
    if loss is not None and loss.delta(_NO_BOUND) <= failure:
        # The loss counts the failures of the charges itself, so it is compared at the same delta as the other figures.
        bounds["loss"] = epsilon_at(loss, failure)
        power = min(power, power_under_loss(loss, max(bounds["loss"], _LEAST_RANGE), LEVEL))

    def figure(names: tuple[str, ...], failure: Fraction) -> Figure:
        # A statement without failures is the better one, unless another epsilon is smaller by more than a hundredth.
        best = min((n for n in names if n in bounds), key=lambda n: bounds[n] * (_NEAR if n == "pure" else 1))
        return Figure(epsilon=bounds[best], delta=Fraction(0) if best == "pure" else delta + failure, basis=best)

    return OdometerReading(
        fixed=figure(("pure", "loss", "rho"), spent.delta),
        running=figure(("pure", "running"), account.limit.delta),
        bounds=bounds,
        relation=account.relation,
        power=power,
        charges=account.charges,
        not_covered=account.other_charges,
    )
