"""The public law of a released value: what an outside analyst may know of the noise.

Additive(noise)  value = exact + noise, noise on the integers (times a public step)
Kernel(rows)     value b appears with probability p(a, b) when the exact count is a
Joint(blocks)    measured blocks with their own laws, and a linear map to what is shown
Withheld(why)    the law depends on confidential data and is not published
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dalenius.core.exact import plain

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WeightTable:
    """Enclosed, unnormalised weights of an integer law: lower[i] <= 2**bits * w(first + i) <= upper[i].

    `left` and `right` are upper bounds (on the same scale) of the weight outside the table. `weights(bits)` of a
    law must make them as small as a few units, so that raising `bits` narrows every derived enclosure.
    """

    bits: int
    first: int
    lower: Sequence[int]
    upper: Sequence[int]
    left: int = 0
    right: int = 0

    @property
    def last(self) -> int:
        """Largest integer in the table."""
        return self.first + len(self.lower) - 1


@runtime_checkable
class IntegerLaw(Protocol):
    """A distribution on the integers with exact weights. Every mechanism is one."""

    name: ClassVar[str]

    @property
    def parameters(self) -> Mapping[str, Fraction | int]:
        """Exact parameters; with the name they say everything."""

    @property
    def support(self) -> tuple[int | None, int | None]:
        """Smallest and largest value, None where there is none."""

    @property
    def mean(self) -> float:
        """Expected value."""

    @property
    def variance(self) -> float:
        """Variance; for analysis, not for privacy."""

    def weights(self, bits: int) -> WeightTable:
        """Enclosed weights; exact arithmetic."""

    def log_pmf(self, k: IntArray) -> FloatArray:
        """Logarithm of the probability, vectorised; -inf outside the support."""


@dataclass(frozen=True)
class Additive:
    """value = exact + step * noise."""

    noise: IntegerLaw
    step: Fraction = Fraction(1)
    kind: ClassVar[str] = "additive"

    @property
    def variance(self) -> float:
        """In units of the released value."""
        return self.noise.variance * float(self.step) ** 2

    @property
    def std_error(self) -> float:
        """Standard deviation of the noise, in units of the released value."""
        return float(np.sqrt(self.variance))

    @cached_property
    def _table(self) -> tuple[int, FloatArray, FloatArray]:
        """First noise value, probabilities and cumulative probabilities of the central range."""
        enclosed = self.noise.weights(96)
        total = sum(enclosed.upper)
        pmf = np.array([u / total for u in enclosed.upper], dtype=np.float64)
        running, cumulative = 0, np.empty(len(pmf))
        for i, u in enumerate(enclosed.upper):
            running += u
            cumulative[i] = running / total
        return enclosed.first, pmf, cumulative

    def pmf(self, k: Any) -> FloatArray:
        """P(noise = k)."""
        return np.exp(self.noise.log_pmf(np.asarray(k, dtype=np.int64)))

    def log_pmf(self, k: Any) -> FloatArray:
        """log P(noise = k)."""
        return self.noise.log_pmf(np.asarray(k, dtype=np.int64))

    def cdf(self, k: Any) -> FloatArray:
        """P(noise <= k)."""
        first, _, cumulative = self._table
        index = np.asarray(k, dtype=np.int64) - first
        inside = cumulative[np.clip(index, 0, len(cumulative) - 1)]
        return np.where(index < 0, 0.0, np.where(index >= len(cumulative), 1.0, inside))

    def quantile(self, p: float) -> int:
        """Smallest k with P(noise <= k) >= p."""
        first, _, cumulative = self._table
        return first + int(np.searchsorted(cumulative, p, side="left"))

    def half_width(self, confidence: float) -> int:
        """Smallest q with P(|noise| > q) <= 1 - confidence."""
        first, pmf, _ = self._table
        k = np.abs(np.arange(first, first + len(pmf)))
        order = np.argsort(k, kind="stable")
        reach, mass = k[order], np.cumsum(pmf[order])
        # Probabilities of equal |k| belong together: look at the last of each.
        last = np.append(reach[1:] != reach[:-1], True)
        enough = mass[last] >= confidence - 1e-14
        return int(reach[last][np.argmax(enough)]) if enough.any() else int(reach[-1])

    def central(self, mass: float = 1e-15) -> tuple[IntArray, FloatArray]:
        """Support points and probabilities, the outer `mass` left out; for convolutions."""
        first, pmf, cumulative = self._table
        keep = (cumulative >= mass / 2) & (cumulative - pmf <= 1 - mass / 2)
        points = np.arange(first, first + len(pmf), dtype=np.int64)
        return points[keep], pmf[keep]

    def to_dict(self) -> dict[str, object]:
        """For documents."""
        return {
            "kind": self.kind,
            "family": self.noise.name,
            "parameters": {k: plain(Fraction(v)) for k, v in self.noise.parameters.items()},
            "step": plain(self.step),
        }


@dataclass(frozen=True)
class Kernel:
    """p(a, b): probability of showing b when the exact count is a; rows beyond the last follow the last one.

    `rows[a]` holds integers over the common denominator `scale`, for outputs first(a), first(a)+1, …; an exact count
    beyond the table uses the last row, shifted by the difference.
    """

    name: str
    firsts: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    scale: int
    kind: ClassVar[str] = "kernel"

    def pmf(self, a: int, b: Any) -> FloatArray:
        """p(a, b), vectorised in b."""
        last = len(self.rows) - 1
        row = min(a, last)
        shift = self.firsts[row] + max(a - last, 0)
        probabilities = np.array([w / self.scale for w in self.rows[row]])
        index = np.asarray(b, dtype=np.int64) - shift
        inside = probabilities[np.clip(index, 0, len(probabilities) - 1)]
        return np.where((index < 0) | (index >= len(probabilities)), 0.0, inside)

    def to_dict(self) -> dict[str, object]:
        """For documents."""
        return {
            "kind": self.kind,
            "name": self.name,
            "firsts": list(self.firsts),
            "rows": [[str(w) for w in row] for row in self.rows],
            "scale": str(self.scale),
        }


@dataclass(frozen=True)
class Joint:
    """Shown values are a linear map of measured blocks; `structure` names the map (for example "residual")."""

    structure: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "joint"

    def to_dict(self) -> dict[str, object]:
        """For documents."""
        return {"kind": self.kind, "structure": self.structure, "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class Withheld:
    """The law depends on confidential data: it is not published."""

    reason: str
    kind: ClassVar[str] = "withheld"

    def to_dict(self) -> dict[str, object]:
        """For documents."""
        return {"kind": self.kind, "reason": self.reason}


Law = Additive | Kernel | Joint | Withheld
