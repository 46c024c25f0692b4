"""The law of independent additive noise as a table of probabilities, closed under sums and differences.

Outer mass below 1e-15 is left out, so that intervals and likelihoods work for single cells and for combinations alike.
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from dalenius.core.law import Additive, FloatArray, IntArray
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.loss import is_symmetric

OUTER_MASS = 1e-15
_WIDEST = 4_000_000
_WIDEST_TABLE = 20_000_000
_NODES = 32


@dataclass(frozen=True, eq=False)
class Noise:
    """P(noise = first + i) = pmf[i]; entries sum to one."""

    first: int
    pmf: FloatArray = field(repr=False)

    @classmethod
    def of(cls, law: Additive) -> "Noise":
        """The noise of one cell, on the integer grid of its block."""
        return _of(law)

    @classmethod
    def none(cls) -> "Noise":
        return cls(0, np.ones(1))

    @property
    def last(self) -> int:
        return self.first + len(self.pmf) - 1

    @property
    def points(self) -> IntArray:
        return np.arange(self.first, self.last + 1, dtype=np.int64)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether the noise and its negative have the same table, entry by entry."""
        return self.first == -self.last and np.array_equal(self.pmf, self.pmf[::-1])

    @cached_property
    def mean(self) -> float:
        """Expected value; exactly zero for a symmetric law, where a sum of floats would leave a remainder."""
        return 0.0 if self.is_symmetric else float(self.points @ self.pmf)

    @cached_property
    def variance(self) -> float:
        return float((self.points - self.mean) ** 2 @ self.pmf)

    @cached_property
    def log_pmf(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.pmf)

    @cached_property
    def _below(self) -> FloatArray:
        return np.minimum(np.cumsum(self.pmf), 1.0)

    @cached_property
    def _above(self) -> FloatArray:
        # Summed from the far end, so that small upper tails keep their relative precision.
        return np.minimum(np.cumsum(self.pmf[::-1])[::-1], 1.0)

    def cdf(self, k: object) -> FloatArray:
        index = np.asarray(k, dtype=np.int64) - self.first
        inside = self._below[np.clip(index, 0, len(self.pmf) - 1)]
        return np.where(index < 0, 0.0, np.where(index >= len(self.pmf), 1.0, inside))

    def upper_tail(self, k: object) -> FloatArray:
        index = np.asarray(k, dtype=np.int64) - self.first
        inside = self._above[np.clip(index, 0, len(self.pmf) - 1)]
        return np.where(index <= 0, 1.0, np.where(index >= len(self.pmf), 0.0, inside))

    @cached_property
    def quadrature(self) -> tuple[FloatArray, FloatArray]:
        """Gauss nodes and weights of the law: exact for polynomials of degree 63, positive, at most 32 nodes.

        Lanczos' method on the diagonal matrix of the points, orthogonalised twice; the nodes are eigenvalues.
        """
        spread = np.sqrt(self.variance) or 1.0
        scaled = (self.points - self.mean) / spread
        vectors = [np.sqrt(self.pmf)]
        diagonal, beside = [], []
        for _ in range(min(_NODES, len(self.pmf))):
            step = scaled * vectors[-1]
            diagonal.append(float(step @ vectors[-1]))
            for _ in range(2):
                for vector in vectors:
                    step = step - (vector @ step) * vector
            length = float(np.linalg.norm(step))
            if length < 1e-10:
                break
            beside.append(length)
            vectors.append(step / length)
        off = beside[: len(diagonal) - 1]
        nodes, basis = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
        return np.asarray(self.mean + spread * nodes), np.asarray(basis[0] ** 2)

    def half_width(self, confidence: float) -> int:
        """Smallest q with P(|noise| > q) <= 1 - confidence."""
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence must lie strictly between 0 and 1; received {confidence}.")
        reach = np.arange(max(abs(self.first), abs(self.last)) + 1)
        outside = self.upper_tail(reach + 1) + self.cdf(-reach - 1)
        return int(reach[np.argmax(outside <= (1 - confidence) * (1 + 1e-12))])

    def reflected(self) -> "Noise":
        return Noise(-self.last, self.pmf[::-1].copy())

    def dilated(self, factor: int) -> "Noise":
        if factor < 1:
            raise ParameterError(f"a factor must be at least 1; received {factor}.")
        if len(self.pmf) * factor > _WIDEST:
            raise TooLarge("The law of this multiple has too wide a support.")
        spread = np.zeros((len(self.pmf) - 1) * factor + 1)
        spread[::factor] = self.pmf
        return Noise(self.first * factor, spread)

    def plus(self, other: "Noise") -> "Noise":
        if len(self.pmf) + len(other.pmf) > _WIDEST:
            raise TooLarge("The law of this sum has too wide a support; sum fewer cells at once.")
        both = _convolve(self.pmf, other.pmf)
        if self.is_symmetric and other.is_symmetric:
            # The entries at k and -k were added up in different orders: the same number, up to the last digit.
            both = (both + both[::-1]) / 2
        return _trimmed(self.first + other.first, both)

    def times(self, terms: int) -> "Noise":
        """The law of the sum of `terms` independent copies."""
        if terms < 1:
            raise ParameterError(f"a sum needs at least one term; received {terms}.")
        total: Noise | None = None
        power, rest = self, terms
        while rest:
            if rest % 2:
                total = power if total is None else total.plus(power)
            rest //= 2
            power = power.plus(power) if rest else power
        assert total is not None
        return total


def has_table(law: Additive) -> bool:
    """Whether the noise has few enough possible values to be tabulated."""
    return 2 * law.half_width(1 - OUTER_MASS) < _WIDEST_TABLE


@lru_cache(maxsize=256)
def _of(law: Additive) -> Noise:
    if not has_table(law):
        raise TooLarge(
            f"The noise has more than {_WIDEST_TABLE:,} possible values, too many for this analysis. Ask for the "
            "release with a larger budget, or declare a coarser `step` or narrower `bounds`.",
            limit=_WIDEST_TABLE,
        )
    points, pmf = law.central(OUTER_MASS)
    if is_symmetric(law.noise):
        reach = max(-int(points[0]), int(points[-1]))
        pmf = law.pmf(np.arange(reach + 1, dtype=np.int64))
        points, pmf = np.array([-reach, reach]), np.concatenate([pmf[:0:-1], pmf])
    return Noise(int(points[0]), np.asarray(pmf / pmf.sum(), dtype=np.float64))


def _convolve(left: FloatArray, right: FloatArray) -> FloatArray:
    """Convolution; direct while affordable, because it keeps the relative precision of the tails."""
    if min(len(left), len(right)) <= 4096:
        return np.asarray(np.convolve(left, right))
    size = 1 << (len(left) + len(right) - 1).bit_length()
    both = np.fft.irfft(np.fft.rfft(left, size) * np.fft.rfft(right, size), size)
    return np.maximum(both[: len(left) + len(right) - 1], 0.0)


def _trimmed(first: int, pmf: FloatArray) -> Noise:
    """Without the outer mass that no answer here depends on."""
    left = int(np.argmax(np.cumsum(pmf) > OUTER_MASS / 2))
    right = int(np.argmax(np.cumsum(pmf[::-1]) > OUTER_MASS / 2))
    kept = pmf[left : len(pmf) - right]
    return Noise(first + left, kept / kept.sum())
