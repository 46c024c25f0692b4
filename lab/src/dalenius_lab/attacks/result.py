"""What an attack found, on a protected target or on its broken twin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, sqrt


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """`advantage` is what the attack gains over a guess (0 is nothing, 1 is certainty), or an error where the text says
    so.
    """

    name: str
    target: str
    advantage: float
    succeeded: bool
    details: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_guesses(
        cls, name: str, target: str, right: float, guesses: int, epsilon: float | None, certain: float = 0.99
    ) -> "AttackResult":
        """The share of right guesses of a bit at even odds; it succeeds three standard errors above epsilon's bound.

        Without an epsilon it succeeds above `certain`.
        """
        bound = 1.0 if epsilon is None else exp(epsilon) / (1 + exp(epsilon))
        limit = certain if epsilon is None else bound + 3 * sqrt(0.25 / guesses)
        details = {"right": right, "bound": bound}
        return cls(
            name=name, target=target, advantage=max(0.0, 2 * right - 1), succeeded=right > limit, details=details
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        return {
            "attack": self.name,
            "target": self.target,
            "advantage": self.advantage,
            "succeeded": self.succeeded,
            "details": dict(self.details),
        }

    def __str__(self) -> str:
        outcome = "succeeds" if self.succeeded else "gains nothing of note"
        return f"{self.name} on {self.target}: {outcome} (advantage {self.advantage:.3f})"
