"""Publicly known attributes: differential privacy of the other attributes, for units whom everybody can list.

Guarantee
    For data sets that differ in one unit, which keeps its publicly known attributes:
    P(M(D) in S) <= exp(epsilon) P(M(D') in S); with a delta alike.
Requires
    Attributes that the dataset document declares as public, each with the place where everybody reads them, and the
    policy's consent by name.
Evidence
    Proved: the neighbours are some of those of the replace relation, and every step is priced under replace. A row that
    keeps what is public moves tables by less, which is enumerated in tests/definitions/test_public_attributes.py.
    Not protected: who is in the data, and what is public about them; both can be linked to the other attributes.
References
    Dwork & Smith (2010), section 4, "Noise reduction for general queries", on queries about data that are not
    sensitive; Barak et al. (2007), which they cite.
"""

from collections.abc import Sequence
from typing import ClassVar

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition
from dalenius.core.evidence import Evidence, Level
from dalenius.core.neighbours import Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.definitions._composition import SummedDefinition
from dalenius.spec.notes import note

LINKAGE = note("linkage")


class PublicAttributes(SummedDefinition):
    name: ClassVar[str] = "public_attributes"
    scope: ClassVar[Scope] = Scope.GIVEN_THE_PUBLIC
    amounts: ClassVar[tuple[str, ...]] = ("epsilon",)
    account: ClassVar[str] = "public-attributes"
    warnings: ClassVar[tuple[str, ...]] = (LINKAGE,)
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED,
        references=("Dwork & Smith (2010), section 4",),
        assumptions=(
            "opened by name in the policy only",
            "who is in the data, and their publicly known attributes, are not protected",
        ),
    )
    statements: ClassVar[tuple[str, ...]] = ("Between data sets that differ in what is not public about one unit:",)

    def fits(self, profiles: Sequence[PrivacyProfile], budget: Budget) -> bool:
        return _among_replaced(budget).fits(profiles, budget)

    def sentence(self, budget: Budget) -> str:
        return f"{self.statements[0]} {_among_replaced(budget).sentence(budget)}"


def _among_replaced(budget: Budget) -> Definition:
    """The definition that the amounts speak of; here it holds between fewer pairs."""
    definition: Definition = registry.get("definitions", "pure" if budget.delta is None else "approximate")()
    return definition
