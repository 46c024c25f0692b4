"""The loss of several steps that are all fixed in advance: their loss distributions, added exactly.

Claim. For every combination of the steps' worst moves `composed_losses` gives one loss distribution, which dominates
that of all steps together where a unit moves each of them so. The steps' parameters must not depend on earlier answers.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product
from math import prod

from dalenius import limits
from dalenius.core.profile import PrivacyProfile
from dalenius.errors import TooLarge
from dalenius.exact.additive import PER_CONVOLVED, product_losses
from dalenius.exact.loss import LossDistribution, of_statement

_MOST_WORK = 256


def composed_losses(profiles: Sequence[PrivacyProfile]) -> Iterator[LossDistribution]:
    """The sum of the loss distributions, for every combination of the steps' worst moves.

    A step with only (epsilon, delta) enters as the randomised response that dominates it; `TooLarge` where a step has
    neither.
    """
    choices = [_losses(profile) for profile in profiles]
    if prod(map(len, choices)) > _MOST_WORK or len(profiles) > _MOST_WORK:
        raise TooLarge("The combinations of moves are too many for an exact curve.")
    for chosen in product(*choices):
        yield reduce(_beside, chosen)


def _beside(left: LossDistribution, right: LossDistribution) -> LossDistribution:
    whole = left.beside(right)
    limits.spend(PER_CONVOLVED * len(whole.masses))
    return whole


def _losses(profile: PrivacyProfile) -> tuple[LossDistribution, ...]:
    if profile.shifts:
        return product_losses(profile.shifts)
    if profile.epsilon is None:
        raise TooLarge("A step states no loss distribution.")
    return (of_statement(profile.epsilon, profile.delta),)
