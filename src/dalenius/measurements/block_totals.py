"""Sample and aggregate: what a model says of random blocks of the data, summed with its squares, plus noise.

Guarantee
    The mechanism's profile at max_rows times the most that one block can add: a unit's rows are in at most that many
    blocks, under add-remove and under replace alike. Where blocks without a number are counted in the same step, the
    profile is that of sum and number together, at every way in which the blocks of one unit can move both; where sum
    and squares are one answer, that of the curve on which a block's number moves both (`Parabola`).
Requires
    A declared range of the parameter on which every block's estimate is projected, and a public number of blocks.
    Blocks are drawn anew for every release and do not depend on how many records there are. Whether a block has a
    number follows from its own records.
Noise
    Of the mechanism, on a grid of the range. Whose block a record falls into is random as well and is not published.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data and all partitions,
    tests/methods/test_sample_and_aggregate.py and, with the number of blocks that gave none,
    tests/measurements/test_silent_blocks.py; of sum and squares, tests/measurements/test_block_totals.py.
References
    Nissim, Raskhodnikova & Smith (2007); Smith (2011); Dwork & Smith (2010) 3.1, Algorithm 1, with the projection and
    the draws that its proof needs.

The number of blocks without a number costs nothing. Let the grid have the points 0, ..., L and let a block without a
number report m = L // 2; h = L - m is as far as any point lies from m. Beside the sum, w times the number of such
blocks is released. A block that changes from one number to another moves (sum, number) by at most (L, 0); one that
gains or loses its number by at most (h, w); one that has none before and after by nothing. So of the c blocks of a
unit, if b gain or lose their number, the two move by at most ((c - b) L + b h, b w), all of which are attained. In l1
that is (c - b) L + b (h + w) <= c L for every b if and only if w <= L - h. In l2 its square is convex in b, so that it
is largest at b = 0 or b = c: at most (c L)^2 if and only if w^2 <= L^2 - h^2. On even grids these are L / 2 and L
sqrt(3) / 2. Never is a block moved by (L, w).

Squares that are told beside the sum cost nothing either. A changed block replaces one point of the grid by another, so
that it moves both as a row of a public number of rows moves its total and its squares; c blocks move them at most c
times as far, in every norm, by the triangle inequality.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from dalenius.core.contracts import Mechanism
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.integer_law import ExactLaw, Mixed, Unlisted
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import RowsQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity
from dalenius.exact.sampling import sample
from dalenius.measurements._example import MeasurementExample, on_values
from dalenius.measurements._listed_quantiles import reports_of
from dalenius.measurements._steps import AddedNoise, QueryStep
from dalenius.measurements.blocks.blocks import Blocks, Reports, touched
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics import Parabola

SILENT = "blocks without a number"
# The sum by itself, and the squares by themselves.
SUM, SQUARES = (1, 0), (0, 1)
# Of more rows per unit only norms are stated: an exact curve looks at each way in which they can move.
_MOST_LISTED = 32


def free_weights(width: int) -> tuple[int, int]:
    """The largest weights at which the number of blocks without a number costs nothing, in l2 and in l1."""
    half = width - width // 2
    return isqrt(width**2 - half**2), width - half


@dataclass(frozen=True, kw_only=True)
class BlockTotals(AddedNoise, QueryStep):
    """Sum of the blocks' estimates above the lower end of the grid, and of their squares about its middle.

    `multiples` says how often each is counted, 0 for one that is not told. Where `weight` is not zero, that many times
    the number of blocks without a number is a second answer, beside the sum alone.
    """

    name: str
    query: ValuesQuery | RowsQuery
    blocks: Blocks
    mechanism: Mechanism
    multiples: tuple[int, int] = SUM
    weight: int = 0

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(filter(None, [self.blocks.function]))

    def with_functions(self, functions: Mapping[str, Any], stage: Callable[[str], None]) -> "BlockTotals":
        return replace(self, blocks=self.blocks.with_functions(functions, stage))

    @staticmethod
    def sensitivity(width: int, multiples: tuple[int, int], neighbours: Neighbours, weight: int = 0) -> Sensitivity:
        half, rows = width - width // 2, touched(neighbours)
        first, second = multiples
        if first and second:
            # Whichever relation makes the two neighbours, a block that changes replaces one number by another.
            replaced = Neighbours(relation=Relation.REPLACE, max_rows=rows)
            basis = Parabola(low=0, high=width, first=first, second=second)
            return basis.sensitivity(replaced, cells=1, arrays=2)
        if not weight:
            return Sensitivity.of_patterns(((rows * (first * width or second * half**2),),))
        moves = [((rows - b) * width + b * half, b * weight) for b in range(rows + 1)]
        if rows <= _MOST_LISTED:
            return Sensitivity.of_patterns(tuple(moves))
        square = max(first**2 + second**2 for first, second in moves)
        return Sensitivity.norms(l0=2, l1=max(map(sum, moves)), l2_squared=square, linf=max(map(max, moves)))

    @property
    def answers(self) -> tuple[str, ...]:
        told = (name for name, multiple in zip(("sum", "squares"), self.multiples, strict=True) if multiple)
        return (*told, *((SILENT,) if self.weight else ()))

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        moved = self.sensitivity(self.blocks.width, self.multiples, neighbours, self.weight)
        return self.mechanism.profile(moved, neighbours.relation)

    def draw(self, rng: RandomSource) -> IntArray:
        return sample(self.mechanism, len(self.answers), rng)

    def totals(self, numbers: IntArray) -> list[int]:
        """Sum and squares, as often as they are counted; without what is not told."""
        about = numbers - self.blocks.width // 2
        both = (int(numbers.sum()), int((about * about).sum()))
        return [multiple * total for multiple, total in zip(self.multiples, both, strict=True) if multiple]

    def exact(self, reports: Reports) -> IntArray:
        counted = [self.weight * reports.silent] if self.weight else []
        return np.array([*self.totals(reports.numbers), *counted], dtype=np.int64)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        return Value(self.exact(self.blocks.drawn(exact[0].open_below_the_gate(), rng)) + drawn)

    def block(self, outcome: Value) -> Block:
        axes = (Axis(variable="answer", labels=self.answers),) if len(self.answers) > 1 else ()
        return Block(name=self.name, space=CellSpace(axes), values=outcome.values, law=self.law)

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """A sum over the blocks of every partition, plus noise. Guard: tests/methods/test_sample_and_aggregate.py."""
        centres: dict[int, float] = {}
        for reports, chance in reports_of(self.blocks, content[0]):
            total = self.totals(reports.numbers)[0]
            centres[total] = centres.get(total, 0.0) + chance
        law = (Mixed(self.mechanism, centres),)
        if len(self.answers) == 1:
            return law
        tests = "tests/measurements/test_silent_blocks.py and tests/measurements/test_block_totals.py"
        reason = "What is told beside the first answer shares the random partition."
        return Unlisted(reason, f"{tests}; the first answer alone is listed.", law)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        lower, upper, noise = Fraction(-1), Fraction(2), DiscreteLaplace(Fraction(1))
        blocks = Blocks(model="gaussian_mean", count=2, lower=lower, upper=upper, width=2, correction="none")
        return (on_values(cls(name="mean of blocks", query=ValuesQuery(value="x"), blocks=blocks, mechanism=noise)),)
