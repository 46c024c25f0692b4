"""What several steps cost together: in sequence, and as one event where all are fixed in advance.

Sums hold however steps are chosen. Loss distributions hold for steps whose parameters were fixed in advance.

References: Kairouz, Oh & Viswanath (2017); Bun & Steinke (2016).
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.search import narrow
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.additive import composed_losses
from dalenius.exact.approximate_concentrated import rho_of
from dalenius.exact.loss import LossDistribution

_STEP = Fraction(1, 10**9)


def in_sequence(costs: Iterable[Cost], relation: Relation = Relation.ADD_REMOVE) -> Cost:
    return reduce(Cost.__add__, costs, Cost(relation=relation, rho=Fraction(0), epsilon=Fraction(0)))


def compose(profiles: Sequence[PrivacyProfile], delta: Fraction | None = None) -> Cost:
    """Return the charge for steps that are all fixed in advance, as one event: never more than their sum.

    With a failure probability, `delta`, it is the least rho that the loss distribution of all steps together has
    outside an event of that probability; the failures that steps state themselves are part of it. It is the sum where
    that is less, or where the loss is too large to be listed.
    """
    whole = in_sequence((profile.cost() for profile in profiles), profiles[0].relation)
    if not delta or whole.delta > delta:
        return whole
    try:
        pairs = [rho_of(loss, delta) for loss in composed_losses(profiles)]
    except TooLarge:
        return whole
    rho, failure = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    if rho >= whole.rho or failure > delta:
        return whole
    return Cost(relation=whole.relation, rho=rho, delta=failure)


def epsilon_at(loss: LossDistribution, delta: Fraction) -> Fraction:
    """Return the least epsilon at which a loss fails with at most delta, rounded up."""
    if loss.delta(Fraction(10**6)) > delta:
        raise ParameterError("These steps fail more often than delta, at any epsilon.")
    low, high = Fraction(0), Fraction(1)
    if loss.delta(low) <= delta:
        return low
    while loss.delta(high) > delta:
        high *= 2
    high = narrow(
        lambda epsilon: loss.delta(epsilon) <= delta,
        inside=high,
        outside=low,
        until=lambda high, low: high - low <= _STEP,
    ).inside
    return -(-high // _STEP) * _STEP
