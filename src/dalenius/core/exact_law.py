"""The exact law of a step's answer at tiny content: what audits divide and what the kit compares with drawn answers.

A law is a sequence of independent parts, in the order of the released numbers:

Noised    whole numbers plus noise of integer laws
Mixed     noise about a number that is random itself and never shown
Listed    every outcome with its probability
Branches  a first outcome that is shown, and the law of what follows each

Unlisted  stands for the whole where no law can be listed: the reason, the evidence in its place, and the law of the
          nearest step that has one

Probabilities are exact up to the rounding of a float. A law is written beside the step and could repeat its mistake,
so nobody trusts it alone: `testing/measurement_kit.py` compares it with answers that `run` drew, `audit/steps.py`
compares the numbers of `Noised` with what `run` adds the same noise to, at every pair of neighbours, and the recorder
of the laboratory hears calls of noise only. The docstring of each `exact_law` names what else derives the same law.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from dalenius.core.integer_law import FloatArray, IntArray
from dalenius.core.release import Outcome


class Noise(Protocol):
    """What audits need of noise on the whole numbers."""

    @property
    def support(self) -> tuple[int | None, int | None]:
        """Smallest and largest value, None where there is none."""

    def log_pmf(self, k: IntArray) -> FloatArray:
        """log P(noise = k)."""


@dataclass(frozen=True, eq=False)
class Noised:
    """`shown`, a linear map, of exact numbers plus independent noise; a number without a law gets none."""

    numbers: Sequence[int]
    laws: Sequence[Noise | None]
    shown: Callable[[IntArray], IntArray] = lambda numbers: numbers

    @classmethod
    def equally(cls, numbers: IntArray, law: Noise, bare: Iterable[int] = ()) -> "Noised":
        """The same noise on every number but those at the places `bare`."""
        without = set(bare)
        return cls(numbers.tolist(), [None if place in without else law for place in range(len(numbers))])


@dataclass(frozen=True, eq=False)
class Mixed:
    """Noise about one of several centres, each with its probability."""

    law: Noise
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
    outcome: Callable[[Hashable, IntArray], Outcome]


Part = Noised | Mixed | Listed | Branches


@dataclass(frozen=True, eq=False)
class Unlisted:
    """Why no law is listed, where the claim is checked in its place, and the law of the nearest step that has one."""

    reason: str
    evidence: str
    nearest: Sequence[Part]


ExactLaw = Sequence[Part] | Unlisted


def parts_of(law: ExactLaw) -> Sequence[Part]:
    """What can be listed."""
    return law.nearest if isinstance(law, Unlisted) else law
