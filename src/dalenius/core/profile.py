"""The privacy of one whole step, in every view in which it is known.

Mechanisms and definitions meet only here. A mechanism states the views it knows; a definition reads the view it
needs. A view that is missing is derived, and a derived view may only over-report.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction

from dalenius.core import conversions
from dalenius.core.budget import Cost
from dalenius.core.evidence import Evidence, Level
from dalenius.core.law import IntegerLaw
from dalenius.core.neighbours import Relation
from dalenius.errors import TooLarge, Unsupported

PROVED = Evidence(Level.PROVED)


@dataclass(frozen=True)
class Shift:
    """One cell's noise seen at an integer distance: the pair (noise, noise + size), `times` over."""

    law: IntegerLaw
    size: int
    times: int = 1


Moves = tuple[tuple[Shift, ...], ...]
"""A step as products of shifted noises, one product for each worst-case pattern of change."""


@dataclass(frozen=True, kw_only=True)
class PrivacyProfile:
    """What a step gives away under one relation.

    epsilon, delta   an (epsilon, delta) statement; delta = 0 is pure. With `shifts` epsilon bounds every finite loss,
                     and delta the probability of an output that a neighbour cannot give
    rho, rho_delta   a delta-approximate rho-zCDP statement
    sharpened        a smaller one from the loss distribution, computed only where a cost is asked for
    curve            delta(epsilon) at any epsilon, exact or rounded up
    estimate         about what the curve would say, in floats: for searching, never for a statement
    shifts           the step as products of shifted noises
    """

    relation: Relation
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    rho_delta: Fraction = Fraction(0)
    sharpened: Callable[[], tuple[Fraction, Fraction]] | None = None
    curve: Callable[[Fraction], Fraction] | None = None
    estimate: Callable[[Fraction], float | None] | None = None
    shifts: Moves = ()
    evidence: Evidence = field(default=PROVED)

    @property
    def is_pure(self) -> bool:
        """Whether the loss is bounded with certainty."""
        return self.epsilon is not None and self.delta == 0

    def zero_concentrated(self) -> tuple[Fraction, Fraction]:
        """(rho, delta) with the smallest rho that is known: the one from the loss distribution, or the stated one."""
        pairs = []
        if self.sharpened is not None:
            with suppress(TooLarge):
                pairs.append(self.sharpened())
        if self.rho is not None or self.epsilon is not None or not pairs:
            pairs.append(self.stated_concentrated())
        return min(pairs)

    def stated_concentrated(self) -> tuple[Fraction, Fraction]:
        """(rho, delta) without looking at the loss distribution: as stated, or converted from (epsilon, delta)."""
        if self.rho is not None:
            return self.rho, self.rho_delta
        if self.epsilon is not None:
            return conversions.pure_to_rho(self.epsilon), self.delta
        raise Unsupported("This step has no zero-concentrated statement, so the ledger cannot carry it.")

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """Smallest delta known to hold at this epsilon; never too small."""
        bounds = [Fraction(1)]
        if self.curve is not None:
            bounds.append(self.curve(epsilon))
        else:
            if self.epsilon is not None:
                bounds.append(self.delta + conversions.pure_to_delta(self.epsilon, epsilon))
            if self.rho is not None:
                bounds.append(self.rho_delta + conversions.rho_to_delta(self.rho, epsilon))
        return min(bounds)

    def distance(self) -> Fraction:
        """Largest total variation between neighbours that is known to hold; never too small.

        Outside a failure of probability delta it is that of the pure or the zero-concentrated statement.
        """
        bounds = [Fraction(1)]
        if self.curve is not None:
            bounds.append(self.curve(Fraction(0)))
        if self.epsilon is not None:
            bounds.append(self.delta + (1 - self.delta) * conversions.pure_to_delta(self.epsilon, Fraction(0)))
        if self.rho is not None:
            bounds.append(self.rho_delta + (1 - self.rho_delta) * conversions.rho_to_distance(self.rho))
        return min(bounds)

    def cost(self) -> Cost:
        rho, failure = self.zero_concentrated()
        return Cost(relation=self.relation, rho=rho, delta=failure, epsilon=self.epsilon if self.is_pure else None)
