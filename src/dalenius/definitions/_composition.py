"""What a sequence of steps costs together: one relation, exact sums."""

from collections.abc import Sequence
from fractions import Fraction

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.errors import Unsupported


def one_relation(profiles: Sequence[PrivacyProfile]) -> Relation:
    """The relation under which all steps are stated; a mixture is refused."""
    relations = {p.relation for p in profiles}
    if len(relations) > 1:
        raise Unsupported(
            "Steps under add-remove and under replace are never priced together; state all of them under one relation."
        )
    return relations.pop() if relations else Relation.ADD_REMOVE


def summed_cost(profiles: Sequence[PrivacyProfile]) -> Cost:
    """The sum of what each step costs the master account."""
    total = Cost(relation=one_relation(profiles), rho=Fraction(0), epsilon=Fraction(0))
    for profile in profiles:
        total += profile.cost()
    return total
