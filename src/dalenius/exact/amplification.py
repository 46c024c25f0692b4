"""Protection by secret sampling with a known fraction, where it is proved.

If the data are a random sample that nobody can see, an (epsilon, delta) step on the sample is (log(1 + q (e^epsilon -
1)), q delta) on the population it was drawn from. Proved for Poisson sampling under add-remove and for samples of a
fixed size without replacement under replace (Balle, Barthe & Gaboardi 2018, Theorems 8 and 9). Zero-concentrated
privacy is *not* amplified by sampling: its view is dropped and derived again from the pure one.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from dalenius.core.conversions import pure_to_rho
from dalenius.core.evidence import Evidence, Level
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import exp_lower, exp_upper, log_lower, log_upper, round_up
from dalenius.errors import ParameterError, Unsupported


class Scheme(StrEnum):
    """How the sample was drawn; it must be secret who is in it."""

    POISSON = "poisson"
    FIXED_SIZE = "fixed size"


PROVED_FOR = {Scheme.POISSON: Relation.ADD_REMOVE, Scheme.FIXED_SIZE: Relation.REPLACE}


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSample:
    fraction: Fraction
    scheme: Scheme

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ParameterError(f"A sampling fraction lies above 0 and at most at 1; received {self.fraction}.")

    def epsilon(self, epsilon: Fraction) -> Fraction:
        """log(1 + q (e^epsilon - 1)), rounded up.

        >>> sample = SecretSample(fraction=Fraction(1, 10), scheme=Scheme.POISSON)
        >>> float(sample.epsilon(Fraction(1)))  # doctest: +ELLIPSIS
        0.158...
        """
        return round_up(log_upper(1 + self.fraction * (exp_upper(epsilon) - 1)), 10**15)

    def amplified(self, profile: PrivacyProfile) -> PrivacyProfile:
        if profile.relation is not PROVED_FOR[self.scheme]:
            raise Unsupported(
                f"Amplification by {self.scheme} sampling is proved under {PROVED_FOR[self.scheme]} only.",
                received=str(profile.relation),
            )
        epsilon = None if profile.epsilon is None else self.epsilon(profile.epsilon)
        delta = profile.delta * self.fraction

        def curve(at: Fraction) -> Fraction:
            # A smaller epsilon has a larger delta, so the argument is rounded down.
            inner = log_lower(1 + (exp_lower(at) - 1) / self.fraction) if at > 0 else Fraction(0)
            return min(Fraction(1), self.fraction * profile.delta_at(max(inner, Fraction(0))))

        assumption = f"{self.scheme} sampling with fraction {self.fraction}; nobody knows who was sampled"
        evidence = Evidence(
            level=Level.PROVED,
            references=(*profile.evidence.references, "Balle, Barthe & Gaboardi (2018), Theorems 8 and 9"),
            assumptions=(*profile.evidence.assumptions, assumption),
        )
        rho, relation = None if epsilon is None else pure_to_rho(epsilon), profile.relation
        stated = PrivacyProfile(relation=relation, epsilon=epsilon, delta=delta, rho=rho, rho_delta=delta)
        return replace(stated, curve=curve, evidence=evidence)
