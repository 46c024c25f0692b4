"""Integer laws: exact weights of a distribution on the integers, and its tails.

A law states its weights as integer enclosures, from which samplers, losses and audits derive everything that must be
exact. Probabilities for analysis are floats, each tail summed from its own end so that small ones keep their digits.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

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
        return self.first + len(self.lower) - 1


@runtime_checkable
class IntegerLaw(Hashable, Protocol):
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


@runtime_checkable
class ClosedForm(Protocol):
    """A law that knows its tails in closed form, so that no table is needed however wide it is."""

    def cdf(self, k: IntArray) -> FloatArray:
        """P(noise <= k), accurate in the left tail."""

    def sf(self, k: IntArray) -> FloatArray:
        """P(noise > k), accurate in the right tail."""


@runtime_checkable
class StatedSymmetry(Protocol):
    """A law that states whether noise and its negative have the same law."""

    @property
    def is_symmetric(self) -> bool:
        """Whether they have."""


class Tails:
    """Probabilities of a law from its exact weights, each tail summed from its own end."""

    first: int
    last: int
    pmf: FloatArray

    def __init__(self, law: IntegerLaw) -> None:
        table = law.weights(128)
        total = sum(table.upper)
        below = list(accumulate(table.upper))
        self.first, self.last = table.first, table.last
        self.pmf = np.array([w / total for w in table.upper])
        self._below = np.array([w / total for w in below])
        self._above = np.array([(total - w) / total for w in below])

    def _index(self, k: IntArray) -> IntArray:
        return np.clip(k, self.first, self.last) - self.first

    def cdf(self, k: IntArray) -> FloatArray:
        return np.where(k < self.first, 0.0, self._below[self._index(k)])

    def sf(self, k: IntArray) -> FloatArray:
        return np.where(k < self.first, 1.0, self._above[self._index(k)])


@lru_cache(maxsize=32)
def tails_of(law: IntegerLaw) -> Tails:
    """Tail probabilities of a law that can be listed; kept, since the table takes a while."""
    return Tails(law)
