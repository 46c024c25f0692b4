"""Bootstrap differential privacy: the guarantee is kept between data sets made of the rows at hand.

Guarantee
    For the data set D and any neighbours D1, D2 whose rows all occur in D (or in a declared larger list), with the
    mechanism fixed at D: P(M(D1) in S) <= exp(epsilon) P(M(D2) in S).
Requires
    Steps whose scale is never published, a floor fixed by the policy, and the policy's consent by name.
Evidence
    None as a privacy guarantee: it is met by mechanisms that publish every distinct row of D. What is proved is that
    our steps meet it, and that it composes (Result 7; Result 8 only where membership of the parts is public).
References
    O'Keefe & Charest (2018), Definition 5, Results 6-8 and 11; corrections in docs/explanation/errata.md.
"""

from typing import ClassVar

from dalenius.core.evidence import Evidence, Level
from dalenius.core.neighbours import Scope
from dalenius.definitions._data_dependent import REPETITION, SCALE, WHO_BOOTSTRAP, DataDependent


class Bootstrap(DataDependent):
    name: ClassVar[str] = "bootstrap"
    scope: ClassVar[Scope] = Scope.OBSERVED_ROWS
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.NONE,
        references=("O'Keefe & Charest (2018), Definition 5",),
        assumptions=("opened by name in the policy only", "protects nobody whose record does not occur in the data"),
    )
    warnings: ClassVar[tuple[str, ...]] = (WHO_BOOTSTRAP, SCALE, REPETITION)
    statements: ClassVar[tuple[str, ...]] = (
        "Bootstrap differential privacy, {amounts}: between data sets made only of records that occur in "
        "these data, under noise fitted to these data.",
    )
