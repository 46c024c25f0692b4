"""The public law of a released value: what an outside analyst may know of the noise.

Additive(noise)  value = exact + noise, noise on the integers (times a public step)
Censored(noise)  a count under a rule on what is shown: exact + noise from `least` on, 0 below
Kernel(rows)     value b appears with probability p(a, b) when the exact count is a
Joint(blocks)    measured blocks with their own laws, and a linear map to what is shown
Withheld(why)    the law depends on confidential data and is not published
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, get_type_hints

import numpy as np

from dalenius.core.integer_law import ClosedForm, FloatArray, IntArray, IntegerLaw, Tails, WeightTable, tails_of
from dalenius.core.rationals import plain
from dalenius.core.search import smallest
from dalenius.errors import DocumentError, ParameterError, TooLarge

__all__ = ["Additive", "Censored", "Joint", "Kernel", "Law", "Withheld", "law_from_dict"]
__all__ += ["ClosedForm", "FloatArray", "IntArray", "IntegerLaw", "Tails", "WeightTable", "tails_of"]

WEIGHTED_LIST = "weighted list"
"""The law of a list of weighted counts: two lists, of weights and of their squares."""
CASCADE = "cascade"
"""The law of an answer at the first of several bounds that passes its test: that of its block."""
_ROUNDING = 1e-12
_FARTHEST = 1 << 61
_WIDEST_CENSORED = 2_000_000


@dataclass(frozen=True)
class Additive:
    noise: IntegerLaw
    step: Fraction = Fraction(1)
    kind: ClassVar[str] = "additive"

    @property
    def variance(self) -> float:
        """In units of the released value."""
        return self.noise.variance * float(self.step) ** 2

    @property
    def std_error(self) -> float:
        return float(np.sqrt(self.variance))

    @cached_property
    def _tails(self) -> ClosedForm:
        return self.noise if isinstance(self.noise, ClosedForm) else tails_of(self.noise)

    def pmf(self, k: Any) -> FloatArray:
        return np.exp(self.noise.log_pmf(np.asarray(k, dtype=np.int64)))

    def log_pmf(self, k: Any) -> FloatArray:
        return self.noise.log_pmf(np.asarray(k, dtype=np.int64))

    def cdf(self, k: Any) -> FloatArray:
        return self._tails.cdf(np.asarray(k, dtype=np.int64))

    def sf(self, k: Any) -> FloatArray:
        """P(noise > k), accurate where it is small."""
        return self._tails.sf(np.asarray(k, dtype=np.int64))

    def quantile(self, p: float) -> int:
        """Smallest k with P(noise <= k) >= p, up to rounding in the last digits of p."""
        if not 0 < p < 1:
            raise ParameterError(f"A probability must lie strictly between 0 and 1; received {p}.")
        if p <= 0.5:
            return self._first(lambda k: float(self.cdf(k)) >= p * (1 - _ROUNDING))
        # The complement is compared, so that the right tail is as accurate as the left one.
        return self._first(lambda k: float(self.sf(k)) <= (1 - p) * (1 + _ROUNDING))

    def half_width(self, confidence: float) -> int:
        """Smallest q with P(|noise| > q) <= 1 - confidence."""
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence must lie strictly between 0 and 1; received {confidence}.")
        outside = (1 - confidence) * (1 + _ROUNDING)
        return max(self._first(lambda q: q >= 0 and float(self.cdf(-q - 1) + self.sf(q)) <= outside), 0)

    def _first(self, reached: Callable[[int], bool]) -> int:
        """Smallest integer from which on a statement holds."""
        span = 1
        while not reached(span) and span < _FARTHEST:
            span *= 2
        low, high = -1, span
        while reached(low) and low > -_FARTHEST:
            low, high = low * 2, low
        return smallest(reached, low, high)

    def central(self, mass: float = 1e-15) -> tuple[IntArray, FloatArray]:
        """Support points and probabilities, the outer `mass` left out; for convolutions."""
        low = self._first(lambda k: float(self.cdf(k)) >= mass / 2)
        high = self._first(lambda k: float(self.sf(k)) <= mass / 2)
        points = np.arange(low, high + 1, dtype=np.int64)
        return points, self.pmf(points)

    def to_dict(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "family": self.noise.name,
            "parameters": {k: plain(Fraction(v)) for k, v in self.noise.parameters.items()},
            "step": plain(self.step),
        }


@dataclass(frozen=True)
class Censored:
    """A count under a rule on what may be shown: exact + noise where that is at least `least`, and 0 below it.

    p(a, b) = P(noise = b - a) for b >= least, p(a, 0) = P(noise < least - a), and nothing else is ever shown. `least` =
    1 is the rule that no count is negative.
    """

    additive: Additive
    least: int = 1
    kind: ClassVar[str] = "censored"

    def __post_init__(self) -> None:
        if self.least < 1 or self.additive.step != 1:
            raise ParameterError("Counts are shown from a whole number on, which is at least 1.")

    def pmf(self, a: int, b: Any) -> FloatArray:
        """p(a, b), vectorised in b."""
        shown = np.asarray(b, dtype=np.int64)
        above = np.where(shown >= self.least, self.additive.pmf(shown - a), 0.0)
        return np.where(shown == 0, self.additive.cdf(self.least - 1 - a), above)

    def show(self, values: IntArray) -> IntArray:
        return np.where(values >= self.least, values, 0)

    @cached_property
    def variance(self) -> float:
        """The largest mean squared error of a shown count over all exact counts, at least the noise variance."""
        reach = self.additive.half_width(1 - 1e-12)
        if reach > _WIDEST_CENSORED:
            raise TooLarge("The noise is too wide for a rule on small counts; a larger budget has less noise.")
        noise = np.arange(-reach, reach + 1, dtype=np.int64)
        mass = self.additive.pmf(noise)
        below = np.concatenate([[0.0], np.cumsum(mass)])
        squares = np.concatenate([[0.0], np.cumsum(mass * noise.astype(np.float64) ** 2)])
        exact = np.arange(self.least + reach + 1, dtype=np.int64)
        # Noise below least - a hides the count a, and 0 is shown in its place.
        cut = np.clip(self.least - exact + reach, 0, len(noise))
        errors = exact.astype(np.float64) ** 2 * below[cut] - squares[cut]
        return self.additive.variance + max(float(errors.max()), 0.0)

    @property
    def std_error(self) -> float:
        return float(np.sqrt(self.variance))

    def ends(self, values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Ends of intervals for the exact counts: those whose noise of at most half a width can show the value."""
        half = self.additive.half_width(confidence)
        is_shown = values >= self.least
        lower = np.where(is_shown, np.maximum(values - half, 0.0), 0.0)
        return lower, np.where(is_shown, values + half, float(self.least - 1 + half))

    def to_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "least": self.least, "of": self.additive.to_dict()}


@dataclass(frozen=True)
class Kernel:
    """p(a, b): probability of showing b when the exact count is a; rows beyond the last follow the last one.

    `rows[a]` holds integers over the common denominator `scale`, for outputs first(a), first(a)+1, …; an exact count
    beyond the table uses the last row, shifted by the difference; in a clamped kernel it uses the last row as it is, so
    that larger counts cannot be told apart and no analysis of them is valid.
    """

    name: str
    firsts: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    scale: int
    is_clamped: bool = False
    kind: ClassVar[str] = "kernel"

    def pmf(self, a: int, b: Any) -> FloatArray:
        last = len(self.rows) - 1
        row = min(a, last)
        shift = self.firsts[row] + (0 if self.is_clamped else max(a - last, 0))
        probabilities = np.array([w / self.scale for w in self.rows[row]])
        index = np.asarray(b, dtype=np.int64) - shift
        inside = probabilities[np.clip(index, 0, len(probabilities) - 1)]
        return np.where((index < 0) | (index >= len(probabilities)), 0.0, inside)

    @property
    def is_unbiased(self) -> bool:
        """Whether the mean of every row is its count, exactly; no row stands for the counts beyond a clamped table."""
        means = (
            sum(w * (first + k - a) for k, w in enumerate(row))
            for a, (first, row) in enumerate(zip(self.firsts, self.rows, strict=True))
        )
        return not self.is_clamped and not any(means)

    def _errors(self) -> list[tuple[IntArray, FloatArray]]:
        """For every row the error of each output, and its probability."""
        return [
            (first - a + np.arange(len(row)), np.array([w / self.scale for w in row]))
            for a, (first, row) in enumerate(zip(self.firsts, self.rows, strict=True))
        ]

    @cached_property
    def variance(self) -> float:
        """The largest mean squared error of a shown count over all rows; unknown beyond a clamped table."""
        if self.is_clamped:
            return float("nan")
        return max(float((errors.astype(np.float64) ** 2 * p).sum()) for errors, p in self._errors())

    @property
    def std_error(self) -> float:
        return float(np.sqrt(self.variance))

    def half_width(self, confidence: float) -> int:
        """The smallest whole number that no tabulated count is off by more than, with this probability."""
        widest = 0
        for errors, p in self._errors():
            order = np.argsort(np.abs(errors), kind="stable")
            enough = int(np.searchsorted(np.cumsum(p[order]), confidence - 1e-12))
            widest = max(widest, int(np.abs(errors[order[min(enough, len(order) - 1)]])))
        return widest

    def ends(self, values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Ends between which no tail of a count excludes the value; unknown for a clamped table."""
        lower, upper = np.full(len(values), np.nan), np.full(len(values), np.nan)
        if self.is_clamped:
            return lower, upper
        last = len(self.rows) - 1
        tail = (1 - confidence) / 2
        for value in np.unique(values):
            # Beyond the table the last row is shifted: as many counts as it has outputs can show the value.
            largest = int(value) - self.firsts[last] + last
            smallest = max(last + 1, largest - len(self.rows[last]) + 1)
            counts = [*range(last + 1), *range(smallest, largest + 1)]
            likely = [a for a in counts if self._is_likely(a, int(value), tail)]
            likely = likely or [a for a in counts if float(self.pmf(a, int(value))) > 0]
            here = values == value
            lower[here], upper[here] = (likely[0], likely[-1]) if likely else (np.nan, np.nan)
        return lower, upper

    def _is_likely(self, a: int, value: int, tail: float) -> bool:
        row = min(a, len(self.rows) - 1)
        place = value - self.firsts[row] - (a - row)
        weights, least = self.rows[row], tail * self.scale
        return sum(weights[: max(place + 1, 0)]) > least and sum(weights[max(place, 0) :]) > least

    def to_dict(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "name": self.name,
            "firsts": list(self.firsts),
            "rows": [[str(w) for w in row] for row in self.rows],
            "scale": str(self.scale),
            "is_clamped": self.is_clamped,
        }


@dataclass(frozen=True)
class Thinned:
    """A count of a secret sample: each record is drawn with probability `fraction`; shown divided by it.

    x = Binomial(count, fraction) + noise, and x / fraction is unbiased.
    """

    additive: Additive
    fraction: Fraction
    kind: ClassVar[str] = "thinned"

    def variance_at(self, counts: FloatArray) -> FloatArray:
        """Of the shown number, where the sample was expected to hold so many records."""
        q = float(self.fraction)
        return np.asarray((np.maximum(counts, 0.0) * (1 - q) + self.additive.variance) / q**2)

    def to_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "of": self.additive.to_dict(), "fraction": plain(self.fraction)}


@dataclass(frozen=True)
class Joint:
    """Shown values are a linear map of measured blocks; `structure` names the map (for example "residual")."""

    structure: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "joint"

    def to_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "structure": self.structure, "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class Withheld:
    reason: str
    kind: ClassVar[str] = "withheld"

    def to_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "reason": self.reason}


Law = Additive | Censored | Kernel | Thinned | Joint | Withheld


def law_from_dict(document: Mapping[str, Any]) -> Law:
    """The inverse of `to_dict`, for every kind of law.

    >>> from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
    >>> law = Additive(DiscreteLaplace(Fraction(1, 3)))
    >>> law_from_dict(law.to_dict()) == law
    True
    """
    kind = document.get("kind")
    try:
        if kind == Additive.kind:
            from dalenius.core import registry

            made = registry.get("mechanisms", str(document["family"]))
            hints, stated = get_type_hints(made), document["parameters"]
            values = {k: int(v) if hints.get(k) is int else Fraction(str(v)) for k, v in stated.items()}
            return Additive(made(**values), Fraction(str(document.get("step", "1"))))
        if kind in (Censored.kind, Thinned.kind) and isinstance(measured := law_from_dict(document["of"]), Additive):
            if kind == Censored.kind:
                return Censored(measured, int(document["least"]))
            return Thinned(measured, Fraction(str(document["fraction"])))
        if kind == Kernel.kind:
            return Kernel(
                name=str(document["name"]),
                firsts=tuple(int(f) for f in document["firsts"]),
                rows=tuple(tuple(int(w) for w in row) for row in document["rows"]),
                scale=int(document["scale"]),
                is_clamped=bool(document.get("is_clamped", False)),
            )
        if kind == Joint.kind:
            return Joint(str(document["structure"]), dict(document.get("parameters", {})))
        if kind == Withheld.kind:
            return Withheld(str(document["reason"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DocumentError(f"A law of kind {kind!r} is not complete or not well formed.") from error
    raise DocumentError(f"A law is additive, censored, kernel, thinned, joint or withheld; received {kind!r:.60}.")
