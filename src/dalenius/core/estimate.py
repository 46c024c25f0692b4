"""What a release means: estimates, intervals and tests, each with what it assumes.

Each result prints itself for readers, gives itself as plain values with `to_dict`, and draws itself with `plot`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import floor, inf, isfinite, log10
from typing import TYPE_CHECKING, Any, cast

from dalenius.core.registry import view
from dalenius.errors import InternalError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# An error of sampling is that of independent draws. It is stated where rows were drawn so, or where nothing is
# declared, with the condition in words; never for a census, which has none, nor for clusters, whose rows tell less than
# as many independent ones. Survey weights speak of a design, so that with weights it must be declared. A unit with up
# to k rows is one draw: whatever its rows add to a sum varies at most k times as much as if they were independent
# (Cauchy and Schwarz), so that variances of sampling are multiplied by k.
class Draws(StrEnum):
    """How rows were drawn, as the data set document declares it."""

    UNSTATED = ""
    INDEPENDENT = "independent"
    CENSUS = "census"
    CLUSTERS = "clusters"

    def has_sampling(self, *, is_weighted: bool = False) -> bool:
        return self is Draws.INDEPENDENT or (self is Draws.UNSTATED and not is_weighted)


def draws_of(parameters: Mapping[str, Any]) -> Draws:
    """How the rows behind a law, or behind a release, were drawn."""
    return Draws(str(parameters.get("draws", "")))


def rows_per_unit(parameters: Mapping[str, Any]) -> int:
    """By how much the sampling variance of independent rows is multiplied: the largest number of rows of one unit."""
    return int(parameters.get("rows_per_unit", 1))


class Kind(StrEnum):
    """What the uncertainty covers; no two are given the same name."""

    NOISE = "population value (privacy noise only)"
    NOISE_AND_SAMPLING = "model parameter (privacy noise and sampling)"
    NOISE_AND_MODEL = "population value by a model (privacy noise and a model of small areas)"


def short(value: float, width: float = inf) -> str:
    """A number with four significant digits, or as many as show differences of `width`; whole numbers as they are.

    >>> short(0.123456), short(12), short(float("inf")), short(123456.0), short(0.123456, 2e-5)
    ('0.1235', '12', '∞', '123456', '0.123456')
    """
    if not isfinite(value):
        return {inf: "∞", -inf: "-∞"}.get(value, "not available")
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    digits = max(4, _place(value) - _place(width) + 2) if 0 < width < inf else 4
    return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:.{min(digits, 15)}g}"


def _place(value: float) -> int:
    """The power of ten of a number's first digit."""
    return floor(log10(abs(value))) if value else 0


def level(confidence: float) -> str:
    """A confidence level for readers, never rounded up to certainty.

    >>> level(0.95), level(0.9999)
    ('95%', '99.99%')
    """
    return f"{100 * confidence:.6g}%"


def p_words(p_value: float) -> str:
    """A p-value for readers; one too small for the machine's numbers is not zero.

    >>> p_words(0.0123), p_words(0.0)
    ('0.0123', 'below 1e-300')
    """
    return f"{p_value:.4g}" if p_value > 0 else "below 1e-300"


def plain_values(value: Any) -> Any:
    """The same content in values that JSON knows; infinite and undefined numbers as text.

    >>> plain_values({"upper": float("inf"), "cells": (1, 2)})
    {'upper': 'inf', 'cells': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(k): plain_values(v) for k, v in value.items()}
    if hasattr(value, "tolist"):
        return plain_values(value.tolist())
    if isinstance(value, list | tuple):
        return [plain_values(v) for v in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    lower: float
    upper: float
    confidence: float
    kind: Kind
    method: str = ""

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    @property
    def width(self) -> float:
        return inf if inf in (self.upper, -self.lower) else self.upper - self.lower

    def __str__(self) -> str:
        lower, upper = short(self.lower, self.width), short(self.upper, self.width)
        return f"[{lower}, {upper}] at {level(self.confidence)}, {self.kind}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"kind": str(self.kind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number, how far off it may be, and what that statement assumes."""

    name: str
    value: float
    std_error: float
    interval: Interval | None = None
    assumptions: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.name}: {short(self.value, self.std_error)} (standard error {short(self.std_error)})"]
        if self.interval is not None:
            lines.append(f"  interval {self.interval}")
        return "\n".join(lines + [f"  {note}" for note in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "std_error": self.std_error,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "assumptions": list(self.assumptions),
            "details": dict(self.details),
        }

    def __repr__(self) -> str:
        ends = "" if self.interval is None else f", interval {self.interval}"
        return f"<Estimate: {self.name}\n {short(self.value)} ± {short(self.std_error)}{ends}>"

    def _repr_html_(self) -> str:
        return str(view("estimate", self).html())

    def plot(self, path: object = None) -> "Axes":
        """The estimate with its interval on one line."""
        return cast("Axes", view("estimate", self).plot(path))


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

    def __post_init__(self) -> None:
        if not 0 <= self.p_value <= 1:
            raise InternalError("A p-value lies between 0 and 1.")

    @property
    def is_at_limit(self) -> bool:
        """Whether no simulated measurement was as extreme: the p-value is only known to be at most this small."""
        simulated = self.details.get("simulated")
        runs = 0 if simulated is None else len(simulated)
        return runs > 0 and self.p_value <= 1.001 / (runs + 1)

    @property
    def p_text(self) -> str:
        """The p-value for readers: a simulation cannot show less than one in the number of its runs."""
        return ("≤ " if self.is_at_limit else "") + p_words(self.p_value)

    def __str__(self) -> str:
        count = self.degrees_of_freedom
        freedom = "" if count is None else f" on {count} degree{'' if count == 1 else 's'} of freedom"
        limit = " (no simulated measurement was as extreme)" if self.is_at_limit else ""
        lines = [self.name, f"  statistic {short(self.statistic)}{freedom}", f"  p-value {self.p_text}{limit}"]
        lines.append(f"  by {self.method}")
        return "\n".join(lines + [f"  {note}" for note in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        """For documents; the simulated statistics are left out."""
        return {
            "name": self.name,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "is_at_limit": self.is_at_limit,
            "method": self.method,
            "degrees_of_freedom": self.degrees_of_freedom,
            "assumptions": list(self.assumptions),
            "details": {k: v for k, v in self.details.items() if k != "simulated"},
        }

    def __repr__(self) -> str:
        return f"<Test: {self.name}\n statistic {short(self.statistic)}, p-value {self.p_text}>"

    def _repr_html_(self) -> str:
        return str(view("significance", self).html())

    def plot(self, path: object = None) -> "Axes":
        """The statistic against its simulated null distribution, where there is one."""
        return cast("Axes", view("significance", self).plot(path))
