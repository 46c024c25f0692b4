"""What an attack found, on a protected target or on its broken twin."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
