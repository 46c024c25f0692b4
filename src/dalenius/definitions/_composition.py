"""What a sequence of steps costs together: one relation, exact sums."""

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from dalenius.core.budget import MASTER, Cost
from dalenius.core.neighbours import Relation, Scope
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


class DifferentialPrivacy:
    """What definitions of differential privacy share: they hold for all data and are charged to the master account."""

    scope: ClassVar[Scope] = Scope.ALL_DATA
    account: ClassVar[str] = MASTER
    by_name_only: ClassVar[tuple[str, ...]] = ()
    warnings: ClassVar[tuple[str, ...]] = ()

    def cost(self, profiles: Sequence[PrivacyProfile]) -> Cost:
        """The sum of the steps' costs."""
        return summed_cost(profiles)


def summed_cost(profiles: Sequence[PrivacyProfile]) -> Cost:
    """The sum of what each step costs the master account."""
    total = Cost(relation=one_relation(profiles), rho=Fraction(0), epsilon=Fraction(0))
    for profile in profiles:
        total += profile.cost()
    return total
