"""What a release means: estimates, intervals and tests, each with what it assumes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any


class Kind(StrEnum):
    """What the uncertainty covers; the two are never given the same name."""

    NOISE = "population value (privacy noise only)"
    NOISE_AND_SAMPLING = "model parameter (privacy noise and sampling)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval with its level and its kind."""

    lower: float
    upper: float
    confidence: float
    kind: Kind
    method: str = ""

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    @property
    def width(self) -> float:
        """Upper minus lower end."""
        return inf if inf in (self.upper, -self.lower) else self.upper - self.lower


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number, how far off it may be, and what that statement assumes."""

    name: str
    value: float
    std_error: float
    interval: Interval | None = None
    assumptions: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """Outcome of a test: statistic, p-value, how the p-value was found, and what it assumes."""

    __test__ = False

    name: str
    statistic: float
    p_value: float
    method: str
    degrees_of_freedom: int | None = None
    assumptions: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
