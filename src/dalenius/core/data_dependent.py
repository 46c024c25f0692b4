"""What every data-dependent promise shares: how it composes, and what a reader must be told."""

from collections.abc import Sequence
from fractions import Fraction

from dalenius.core.budget import Budget, Cost
from dalenius.core.composition import one_relation, summed_cost
from dalenius.core.profile import PrivacyProfile
from dalenius.errors import ParameterError, Unsupported

PAGE = "data-dependent"

REPETITION = (
    "Repeated releases reveal the scale of the noise by their spread, and with it something about the largest values"
    " in the data; this is not accounted for."
)
SCALE = "The scale of the noise depends on the confidential data and is withheld, so no standard error can be published."

WHO_BOOTSTRAP = (
    "Protected: a person in the data, who can claim to have any other record that occurs in the data. Not protected:"
    " anyone whose record does not occur in the data, anyone who joins in a later version, groups of people."
)
WHO_INDIVIDUAL = (
    "Protected: each single person in the data, against an intruder who does not use the fact that the noise was fitted"
    " to the data. Not protected: groups of people, later versions, and anyone against an intruder who knows the"
    " algorithm and compares what it would have done with other data."
)
CLAMP = (
    "Answers are cut to the exact count plus or minus one. A few answers give the exact count away; the fewer, the"
    " smaller epsilon is."
)
MEMBERSHIP = "Who belongs to which cell is taken as public; a person can claim only values that occur in their own cell."


def fits(profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
    """Whether a sequence stays within (epsilon), (epsilon, delta) or (rho), between the pairs the promise is about.

    Losses of a fixed pair of data sets compose as they do under differential privacy; the pairs are fewer.
    """
    one_relation(profiles)
    total = summed_cost(profiles)
    if budget.rho is not None:
        return total.rho <= budget.rho and total.delta == 0
    if budget.epsilon is None:
        raise ParameterError("This definition needs epsilon, or rho.", name="epsilon")
    if total.epsilon is not None and total.epsilon <= budget.epsilon:
        return True
    if budget.delta is None:
        return False
    together = PrivacyProfile(relation=total.relation, rho=total.rho, rho_delta=total.delta)
    return together.delta_at(budget.epsilon) <= budget.delta


def cost(profiles: Sequence[PrivacyProfile]) -> Cost:
    """What the data-dependent page is charged; never the master account."""
    return summed_cost(profiles)


def parallel(profiles: Sequence[PrivacyProfile], *, is_membership_public: bool) -> Fraction:
    """epsilon of steps on the parts of a partition: the largest if membership is public, otherwise the two largest.

    With private membership a replaced row may leave one part and enter another (O'Keefe & Charest, Result 8, and
    Soria-Comas et al., Theorem 4, state the largest for both); under add-remove one part is touched. Each part's
    step must be private under add-remove within the part.
    """
    relation = one_relation(profiles)
    losses = []
    for profile in profiles:
        if profile.epsilon is None or profile.delta:
            raise Unsupported("Parallel composition is stated for pure steps.")
        losses.append(profile.epsilon)
    first, second = (*sorted(losses, reverse=True), Fraction(0), Fraction(0))[:2]
    if is_membership_public or str(relation) == "add-remove":
        return first
    return first + second
