"""Sample and aggregate: the sum of what a model says of random blocks of the data, or of its squares, plus additive noise.

Guarantee
    The mechanism's profile at max_rows times the most that one block can add: a unit's rows are in at most that many blocks, under
    add-remove and under replace alike.
Requires
    A declared range of the parameter on which every block's estimate is projected, and a public number of blocks. Blocks are drawn
    anew for every release and do not depend on how many records there are.
Noise
    Of the mechanism, on a grid of the range. Whose block a record falls into is random as well and is not published.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data and all partitions, tests/methods/test_sample_and_aggregate.py.
References
    Nissim, Raskhodnikova & Smith (2007); Smith (2011); Dwork & Smith (2010) 3.1, Algorithm 1, with the projection and the draws that
    its proof needs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dalenius.core.contracts import Mechanism
from dalenius.core.domain import CellSpace
from dalenius.core.evidence import Evidence
from dalenius.core.law import Additive, IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, RowsQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, NoReply, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity
from dalenius.exact.sampling import sample
from dalenius.measurements._blocks import Blocks, touched
from dalenius.measurements._example import MeasurementExample, on_values
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

__all__ = ["BlockTotals"]


@dataclass(frozen=True, kw_only=True)
class BlockTotals:
    """Sum of the blocks' estimates above the lower end of the grid, or of their squares about its middle; one number."""

    name: str
    query: ValuesQuery | RowsQuery
    blocks: Blocks
    mechanism: Mechanism
    power: int = 1

    @property
    def law(self) -> Additive:
        """Additive, given the blocks."""
        return Additive(self.mechanism)

    @property
    def evidence(self) -> Evidence:
        """The mechanism's."""
        return self.mechanism.evidence

    @property
    def functions(self) -> tuple[str, ...]:
        """The custodian's own function, if the blocks are judged by one."""
        return tuple(filter(None, [self.blocks.function]))

    def with_functions(self, functions: Mapping[str, Any], stage: Callable[[str], None]) -> "BlockTotals":
        """The same step with whoever runs the function."""
        return replace(self, blocks=self.blocks.with_functions(functions, stage))

    @property
    def needs(self) -> tuple[Query, ...]:
        """The values."""
        return (self.query,)

    @staticmethod
    def sensitivity(width: int, power: int, neighbours: Neighbours) -> Sensitivity:
        """What the blocks of one unit's rows can add."""
        most = width if power == 1 else (width - width // 2) ** 2
        return Sensitivity.of_patterns(((touched(neighbours) * most,),))

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """The mechanism's profile at this sensitivity."""
        moved = self.sensitivity(self.blocks.width, self.power, neighbours)
        return self.mechanism.profile(moved, neighbours.relation)

    def draw(self, rng: RandomSource) -> int:
        """The noise."""
        return int(sample(self.mechanism, 1, rng)[0])

    def total(self, numbers: IntArray) -> int:
        """Of what the blocks report."""
        if self.power == 1:
            return int(numbers.sum())
        about = numbers - self.blocks.width // 2
        return int((about * about).sum())

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """The sum, in integers."""
        numbers = self.blocks.drawn(exact[0].open_below_the_gate(), rng)
        return Value(np.array([self.total(numbers) + drawn], dtype=np.int64))

    def block(self, outcome: Outcome) -> Block | None:
        """The released number."""
        if isinstance(outcome, NoReply):
            return None
        return Block(name=self.name, space=CellSpace(()), values=outcome.values, law=self.law)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """A mean of two blocks, with its probabilities over all partitions."""
        blocks = Blocks(
            model="gaussian_mean", count=2, lower=Fraction(-1), upper=Fraction(2), width=2, correction="none"
        )

        step = cls(
            name="mean of blocks",
            query=ValuesQuery(value="x"),
            blocks=blocks,
            mechanism=DiscreteLaplace(Fraction(1)),
        )
        return (on_values(step, chances=lambda content: chances(step, content[0].open_below_the_gate())),)


def chances(step: BlockTotals, values: IntArray, reach: int = 4) -> Sequence[Fraction]:
    """Probabilities of the answers near what is summed, over all partitions of a short list; farther ones differ no more."""
    count = step.blocks.count
    rate = float(Fraction(step.mechanism.parameters["rate"]))
    answers = np.arange(-reach, step.blocks.width * count + reach + 1)
    odds = np.zeros(len(answers))
    for places in product(range(count), repeat=len(values)):
        total = step.total(step.blocks.numbers(values, np.array(places, dtype=np.int64)))
        odds += np.exp(-rate * np.abs(answers - total)) * np.tanh(rate / 2) / count ** len(values)
    return [Fraction(float(mass)) for mass in odds]
