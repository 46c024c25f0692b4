"""The odometer: the tightest valid (epsilon, delta) so far, and what it means in words.

Three bounds are valid at the same time, however requests were chosen from earlier answers:

pure      the sum of epsilons, if every charge was pure; delta is 0
promise   the conversion of the account's whole limit: it holds now and for everything that is still to come
running   a bound that holds at every moment at once (Ville's inequality on a supermartingale, then a union bound over
          a grid of budgets rho_j that is fixed here): epsilon_j = rho_j + 2 sqrt(rho_j log(1/delta_j)),
          delta_j = delta / (j (j + 1)), for the least j whose rho_j is not exceeded

The sharper conversion of rho is not a tail bound and is used only for the promise, whose limit is fixed.
References: Canonne, Kamath & Steinke (2020); Whitehouse, Ramdas, Rogers & Wu (2023).
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from dalenius.core.conversions import rho_to_delta, rho_to_epsilon
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import exp_lower, exp_upper, float_upper, log_upper, plain, round_up, sqrt_upper
from dalenius.errors import ParameterError
from dalenius.ledger.account import Account
from dalenius.ledger.charge import DATA_DEPENDENT, MASTER

_FIRST = Fraction(1, 1000)
_RATIO = Fraction(3, 2)
_GRID = 10**6


def running_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """epsilon that the loss exceeds at any moment with probability at most delta, when rho is spent; rounded up."""
    if not 0 < delta < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1; received {plain(delta)}.")
    if rho == 0:
        return Fraction(0)
    place, budget = 1, _FIRST
    while budget < rho:
        place, budget = place + 1, budget * _RATIO
    share = delta / (place * (place + 1))
    return round_up(budget + 2 * sqrt_upper(budget * log_upper(1 / share)), _GRID)


def power_of_test(epsilon: Fraction, delta: Fraction, level: Fraction) -> Fraction:
    """Largest power of any test of that level between two neighbours, under (epsilon, delta)-DP; rounded up."""
    bounds = (
        Fraction(1),
        exp_upper(epsilon) * level + delta,
        1 - exp_lower(-epsilon) * (1 - delta - level),
    )
    return min(bounds)


def power_under_rho(rho: Fraction, delta: Fraction, level: Fraction) -> Fraction:
    """The same under approximate zero-concentrated DP: the best of many valid (epsilon, delta) statements."""
    if rho == 0:
        return min(Fraction(1), level + delta)
    step = max(sqrt_upper(rho) / 8, Fraction(1, 1000)).limit_denominator(1000)
    tried = (round_up(i * step, 1000) for i in range(1, 80))
    return min(power_of_test(e, min(Fraction(1), delta + rho_to_delta(rho, e)), level) for e in tried)


def _shown(amount: Fraction, digits: int = 4) -> str:
    """A few significant digits, rounded up: words promise no more than numbers do."""
    rounded = Context(prec=digits, rounding=ROUND_CEILING).divide(
        Decimal(amount.numerator), Decimal(amount.denominator)
    )
    return f"{float(rounded):.{digits}g}"


def _counted(charges: int) -> str:
    return f"{charges:,} charge{'' if charges == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the odometer shows of the master page, and how many charges on the other page it says nothing about."""

    epsilon: Fraction
    delta: Fraction
    basis: str
    bounds: dict[str, Fraction]
    relation: Relation
    power: Fraction
    level: Fraction
    charges: int = 0
    not_covered: int = 0

    @property
    def odds(self) -> float:
        """Largest factor between the likelihoods of neighbouring data sets, rounded up."""
        return float_upper(exp_upper(self.epsilon))

    def sentences(self) -> tuple[str, ...]:
        """The reading in words."""
        pair = (
            "whether a person is in the data or not"
            if self.relation is Relation.ADD_REMOVE
            else "which of two records a person has"
        )
        failure = f", but for a probability of {_shown(self.delta, 2)}" if self.delta else ""
        others = f"the {DATA_DEPENDENT} page ({_counted(self.not_covered)})"
        if self.not_covered and not self.charges:
            return (f"Nothing was charged to the master account, and no statement covers {others}.",)
        scope = f"what was charged to the master account ({_counted(self.charges)})"
        # Each sentence may be quoted alone, so each says what it leaves out.
        besides = f"; {others} is not covered" if self.not_covered else ""
        return (
            f"Together {scope} is ({_shown(self.epsilon)}, {_shown(self.delta, 2)})-differentially private"
            f"{besides or '; nothing was charged to another page'}.",
            f"Likelihood ratio: {scope} is at most {_shown(exp_upper(self.epsilon))} times as likely "
            f"under one answer to the question {pair} as under the other{failure}{besides}.",
            f"Best test: an intruder who knows everything else and accepts {float(self.level):.0%} false alarms "
            f"recognises the truth from {scope} in at most {float(round_up(self.power, 1000)):.1%} of cases{besides}.",
        )

    def to_dict(self) -> dict[str, Any]:
        """For documents."""
        return {
            "epsilon": plain(self.epsilon),
            "delta": plain(self.delta),
            "basis": self.basis,
            "bounds": {name: plain(value) for name, value in self.bounds.items()},
            "likelihood_ratio": self.odds,
            "level": plain(self.level),
            "power": float_upper(self.power),
            "covers": {"page": MASTER, "charges": self.charges},
            "not_covered": {DATA_DEPENDENT: self.not_covered},
            "words": list(self.sentences()),
        }


def read_odometer(
    account: Account, delta: Fraction = Fraction(1, 10**6), level: Fraction = Fraction(1, 20)
) -> Reading:
    """The tightest valid statement about the master account; `delta` comes on top of the account's own failures.

    All failures that were granted count, not only those charged so far: what is charged depends on earlier answers.
    """
    failure = account.limit.delta
    bounds = {
        "running": running_epsilon(account.spent.rho, delta),
        "promise": rho_to_epsilon(account.limit.rho, delta) if account.limit.rho else Fraction(0),
    }
    if account.pure is not None:
        bounds["pure"] = account.pure
    basis = min(bounds, key=lambda name: (bounds[name], name))
    whole = Fraction(0) if basis == "pure" else delta + failure
    power = power_of_test(bounds[basis], whole, level)
    if account.limit.rho:
        power = min(power, power_under_rho(account.limit.rho, failure, level))
    return Reading(
        epsilon=bounds[basis],
        delta=whole,
        basis=basis,
        bounds=bounds,
        relation=account.relation,
        power=power,
        level=level,
        charges=account.entries,
        not_covered=account.data_dependent,
    )
