"""Individual differential privacy: the guarantee is kept between the data at hand and their neighbours.

Guarantee
    For the data set D and each of its neighbours D', with the mechanism fixed at D:
    exp(-epsilon) P(M_D(D') in S) <= P(M_D(D) in S) <= exp(epsilon) P(M_D(D') in S).
Requires
    Steps whose scale is never published, a floor fixed by the policy, and the policy's consent by name.
Evidence
    None as a privacy guarantee: an intruder compares M_D(D) with M_D'(D'), about which the definition says nothing,
    and a mechanism that publishes f(D) within one unit satisfies it. What is proved is that our steps meet it and
    compose.
References
    Soria-Comas, Domingo-Ferrer, Sanchez & Megias (2017), Definition 5, Theorem 3; corrections in
    docs/explanation/errata.md.
"""

from typing import ClassVar

from dalenius.core.evidence import Evidence, Level
from dalenius.core.neighbours import Scope
from dalenius.definitions._data_dependent import REPETITION, SCALE, WHO_INDIVIDUAL, DataDependent


class Individual(DataDependent):
    name: ClassVar[str] = "individual"
    scope: ClassVar[Scope] = Scope.ACTUAL_DATA
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.NONE,
        references=("Soria-Comas et al. (2017), Definition 5",),
        assumptions=("opened by name in the policy only", "says nothing against an intruder who knows the algorithm"),
    )
    warnings: ClassVar[tuple[str, ...]] = (WHO_INDIVIDUAL, SCALE, REPETITION)
    statements: ClassVar[tuple[str, ...]] = (
        "Individual differential privacy, {amounts}: between these data and the same data with one unit "
        "changed, under noise fitted to these data.",
    )
