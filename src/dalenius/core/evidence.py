"""How well a privacy claim is supported.

`proved` and `enumerated` claims are on by default. `audited` and `search` are off unless a policy opens them, and so
is `none`: what nobody examined, such as an extension of another distribution.
"""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """From strongest to weakest."""

    PROVED = "proved"
    ENUMERATED = "enumerated"
    COMPUTATIONAL = "computational"
    AUDITED = "audited"
    SEARCH = "search"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The support of one claim, with the places where it is argued."""

    level: Level
    references: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def is_strong(self) -> bool:
        """Whether the claim may be used without the policy's consent."""
        return self.level in (Level.PROVED, Level.ENUMERATED, Level.COMPUTATIONAL)

    def to_dict(self) -> dict[str, object]:
        return {"level": str(self.level), "references": list(self.references), "assumptions": list(self.assumptions)}


UNVETTED = Evidence(Level.NONE, assumptions=("the claims of extensions, which the project did not examine",))
"""What a claim counts as that an extension of another distribution makes, whatever it says of itself."""
