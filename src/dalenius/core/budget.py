"""Exact amounts of privacy, rounded only towards privacy.

A cost is what the master account is charged: rho and delta of approximate zero-concentrated DP, with the pure sum
kept beside it as long as every charge is pure. Ledger columns are integers of `UNIT`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.neighbours import Relation
from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError, Unsupported

UNIT = Fraction(1, 10**12)
MOST_EPSILON = 1000
# The account that every guarantee which holds everywhere is charged to.
MASTER = "master"


def units_up(amount: Fraction) -> int:
    return -(-amount.numerator * UNIT.denominator // amount.denominator)


def units_down(amount: Fraction) -> int:
    return amount.numerator * UNIT.denominator // amount.denominator


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one step, or a sequence of steps, costs under one neighbouring relation."""

    relation: Relation
    rho: Fraction
    delta: Fraction = Fraction(0)
    epsilon: Fraction | None = None

    def __add__(self, other: "Cost") -> "Cost":
        if self.relation is not other.relation:
            raise Unsupported(
                "Costs under add-remove and under replace are never added; convert one of them first.",
                left=str(self.relation),
                right=str(other.relation),
            )
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return Cost(relation=self.relation, rho=self.rho + other.rho, delta=self.delta + other.delta, epsilon=pure)

    def __str__(self) -> str:
        pure = "" if self.epsilon is None else f", epsilon {float(self.epsilon):g}"
        return f"rho {float(self.rho):.6g}, delta {float(self.delta):.3g}{pure} ({self.relation})"

    def __repr__(self) -> str:
        return f"<Cost: {self}>"

    def fits(self, limit: "Cost") -> bool:
        """Whether each amount is within the limit's (the pure sum only where both have one)."""
        return self.relation is limit.relation and self.rho <= limit.rho and self.delta <= limit.delta

    def to_dict(self) -> dict[str, object]:
        return {
            "relation": str(self.relation),
            "rho": plain(self.rho),
            "delta": plain(self.delta),
            "epsilon": None if self.epsilon is None else plain(self.epsilon),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, object]) -> "Cost":
        pure = document.get("epsilon")
        return cls(
            relation=Relation(str(document["relation"])),
            rho=Fraction(str(document["rho"])),
            delta=Fraction(str(document["delta"])),
            epsilon=None if pure is None else Fraction(str(pure)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    definition: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None

    @property
    def amounts(self) -> dict[str, Fraction | None]:
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}

    def __post_init__(self) -> None:
        for name, amount in (("epsilon", self.epsilon), ("rho", self.rho)):
            if amount is not None and not 0 < amount <= MOST_EPSILON:
                raise ParameterError(
                    f"{name} must be greater than 0 and at most {MOST_EPSILON}; received {plain(amount)}.", name=name
                )
        if self.delta is not None and not 0 < self.delta < 1:
            raise ParameterError(f"delta must lie strictly between 0 and 1; received {plain(self.delta)}.")

    @classmethod
    def of(cls, definition: str, *, epsilon: object = None, delta: object = None, rho: object = None) -> "Budget":
        amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
        exact = {name: rational(amount, name) for name, amount in amounts.items() if amount is not None}
        return cls(definition=definition, **exact)

    def to_dict(self) -> dict[str, str]:
        return {"definition": self.definition} | {k: plain(v) for k, v in self.amounts.items() if v is not None}
