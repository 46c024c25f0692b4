"""Integer laws: exact weights of a distribution on the integers, and its tails; and the laws of answers made of them.

A law states its weights as integer enclosures, from which samplers, losses and audits derive everything that must be
exact. Probabilities for analysis are floats, each tail summed from its own end so that small ones keep their digits.

The exact law of a step's answer at tiny content (`Measurement.exact_law`) is what audits divide and what the kit
compares with drawn answers: a sequence of independent parts, in the order of the released numbers.

Noised    whole numbers plus noise of integer laws
Mixed     noise about a number that is random itself and never shown
Listed    every outcome with its probability
Branches  a first outcome that is shown, and the law of what follows each

Unlisted  stands for the whole where no law can be listed: the reason, the evidence in its place, and the law of the
          nearest step that has one

Its probabilities are exact up to the rounding of a float. It is written beside the step and could repeat its mistake,
so nobody trusts it alone: `testing/measurement_kit.py` compares it with answers that `run` drew, `audit/steps.py`
compares the numbers of `Noised` with what `run` adds the same noise to, at every pair of neighbours, and the recorder
of the laboratory hears calls of noise only. The docstring of each `exact_law` names what else derives the same law.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, ClassVar, Protocol, runtime_checkable

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


class NoiseLaw(Protocol):
    """What audits need of noise on the whole numbers."""

    @property
    def support(self) -> tuple[int | None, int | None]:
        """Smallest and largest value, None where there is none."""

    def log_pmf(self, k: IntArray) -> FloatArray:
        """Logarithm of the probability, vectorised; -inf outside the support."""


class DrawnLaw(Hashable, Protocol):
    """What samplers need of a distribution on the integers."""

    name: ClassVar[str]

    @property
    def support(self) -> tuple[int | None, int | None]:
        """Smallest and largest value, None where there is none."""

    def weights(self, bits: int) -> WeightTable:
        """Enclosed weights; exact arithmetic."""


@runtime_checkable
class IntegerLaw(NoiseLaw, DrawnLaw, Protocol):
    """A distribution on the integers with exact weights. Every mechanism is one."""

    @property
    def parameters(self) -> Mapping[str, Fraction | int]:
        """Exact parameters; with the name they say everything."""

    @property
    def mean(self) -> float:
        """Expected value."""

    @property
    def variance(self) -> float:
        """Variance; for analysis, not for privacy."""


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
    return Tails(law)


@dataclass(frozen=True, eq=False)
class Noised:
    """`shown`, a linear map, of exact numbers plus independent noise; a number without a law gets none."""

    numbers: Sequence[int]
    laws: Sequence[NoiseLaw | None]
    shown: Callable[[IntArray], IntArray] = lambda numbers: numbers

    @classmethod
    def equally(cls, numbers: IntArray, law: NoiseLaw, bare: Iterable[int] = ()) -> "Noised":
        """The same noise on every number but those at the places `bare`."""
        without = set(bare)
        return cls(numbers.tolist(), [None if place in without else law for place in range(len(numbers))])


@dataclass(frozen=True, eq=False)
class Mixed:
    law: NoiseLaw
    centres: Mapping[int, float]


@dataclass(frozen=True, eq=False)
class Listed:
    """Outcomes, a row of whole numbers each, with the logarithms of their probabilities."""

    outcomes: IntArray
    logs: FloatArray

    @classmethod
    def of(cls, chances: Iterable[tuple[Sequence[int], float | Fraction]]) -> "Listed":
        """From outcomes with their probabilities; those of the same outcome add."""
        whole: dict[tuple[int, ...], float] = {}
        for outcome, chance in chances:
            row = tuple(outcome)
            whole[row] = whole.get(row, 0.0) + float(chance)
        with np.errstate(divide="ignore"):
            return cls(np.array(list(whole), dtype=np.int64), np.log(np.array(list(whole.values()))))


@dataclass(frozen=True, eq=False)
class Branches:
    """Probabilities of the first outcomes, and the parts that follow each; `outcome` puts both together."""

    chances: Mapping[Hashable, float]
    then: Mapping[Hashable, Sequence[Noised]]
    outcome: Callable[[Any, IntArray], Any]


Part = Noised | Mixed | Listed | Branches


@dataclass(frozen=True, eq=False)
class Unlisted:
    """Why no law is listed, where the claim is checked in its place, and the law of the nearest step that has one."""

    reason: str
    evidence: str
    nearest: Sequence[Part]


ExactLaw = Sequence[Part] | Unlisted


def parts_of(law: ExactLaw) -> Sequence[Part]:
    return law.nearest if isinstance(law, Unlisted) else law
