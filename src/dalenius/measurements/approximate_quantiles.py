"""Several quantiles of each cell with the ends of their intervals, by exact selections on disjoint parts of the data.

Guarantee
    epsilon-DP for the whole table; rho is levels * (epsilon / levels)^2 / 8. Each level of the recursion parts a cell's
    records by released values, so that a record takes part in one selection of each level; a unit's rows move the
    scores of the selections that they are in by at most max(share, 1 - share) each. Under replace one unit's rows leave
    and another's enter: twice that, so that each level gets half. Quantiles of what a model says of random blocks of
    the data cost what they cost under replace: a unit with c rows replaces at most c entries of a list of public
    length, whichever relation makes two data sets neighbours.
Requires
    Declared bounds and step; cells that do not depend on data; sizes that are public or were released before.
Noise
    No additive noise: grid points are drawn with probability falling by each record that they are away from the rank
    asked for.
    Records that share a value are parted by independent uniform parts of a step.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data,
    tests/measurements/test_approximate_quantiles.py.
References
    Kaplan, Schnapp & Stemmer (2022); Smith (2011); Dong, Durfee & Rogers (2020) for the bounded range; Nissim,
    Raskhodnikova &
    Smith (2007) for the blocks.

The number of distinct values in a cell shows in the run time: a hosted service must answer on a tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, ClassVar

import numpy as np

from dalenius.algebra.block_quantiles import Ranks, plain_ranks, ranks_of
from dalenius.algebra.ranks import PARTS, levels
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed, Unlisted
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, RowsQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.quantile_selection import check_rate
from dalenius.exact.several_quantiles import select_all, spread
from dalenius.measurements._example import MeasurementExample, on_values
from dalenius.measurements._listed_quantiles import listed_quantiles, reports_of
from dalenius.measurements.blocks.blocks import Blocks

__all__ = ["ApproximateQuantiles"]

MOST_CELLS, MOST_QUANTILES = 500, 100


@dataclass(frozen=True, kw_only=True)
class ApproximateQuantiles:
    """Quantiles of one numeric variable for each cell, each between two ends, in steps.

    With `blocks` they are quantiles of what a model says of random blocks of the values, on the blocks' grid;
    `neighbours` are then those of the data.
    """

    name: str
    space: CellSpace
    queries: tuple[ValuesQuery | RowsQuery, ...]
    low: int
    high: int
    epsilon: Fraction
    neighbours: Neighbours
    q: tuple[Fraction, ...]
    sizes: tuple[int, ...]
    step: Fraction = Fraction(1)
    fineness: int = 256
    has_ends: bool = True
    blocks: Blocks | None = None
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED, references=("Kaplan, Schnapp & Stemmer (2022)", "Smith (2011)")
    )

    def __post_init__(self) -> None:
        if not self.q or list(self.q) != sorted(set(self.q)) or not all(0 < q < 1 for q in self.q):
            raise ParameterError("Quantiles are rising shares between 0 and 1, each once.", name="q")
        if self.space.size > MOST_CELLS or len(self.q) > MOST_QUANTILES:
            raise TooLarge(
                f"At most {MOST_QUANTILES} quantiles of at most {MOST_CELLS} cells are selected together.",
                received=self.space.size,
                limit=MOST_CELLS,
            )
        # Whatever the sizes are: a share lies between one part and all but one.
        for part in (PARTS // 2, PARTS - 1):
            check_rate(self.level_epsilon, Fraction(part * self.neighbours.max_rows))

    @property
    def levels(self) -> int:
        """In how many selections a record takes part."""
        return levels(self.answers)

    @property
    def answers(self) -> int:
        """How many ranks are selected in a cell."""
        return (3 if self.has_ends else 1) * len(self.q)

    @property
    def level_epsilon(self) -> Fraction:
        """What one level loses when all rows of a unit are added or removed."""
        return self.epsilon / (self.levels * self._sides(self.neighbours))

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """The same, level by level."""
        return (self.level_epsilon,) * self.levels

    def _sides(self, neighbours: Neighbours) -> int:
        """In how many parts of the values of one level a unit's rows, or what they say of their blocks, can be."""
        return 2 if neighbours.is_replace or self.blocks is not None else 1

    @property
    def law(self) -> Joint:
        """Public parameters of the selections."""
        return Joint(
            "approximate_quantiles",
            {
                "q": [plain(q) for q in self.q],
                "epsilon": plain(self.level_epsilon),
                "low": self.low,
                "high": self.high,
                "step": plain(self.step),
                "rows": self.neighbours.max_rows,
            }
            | ({} if self.has_ends else {"ends": False}),
        )

    @property
    def needs(self) -> tuple[Query, ...]:
        """The sorted values of each cell."""
        return self.queries

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Rows of a unit cost in proportion; a replaced unit counts twice."""
        level = self.level_epsilon * self._sides(neighbours)
        level *= Fraction(neighbours.max_rows, self.neighbours.max_rows)
        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=self.levels * level,
            rho=self.levels * level * level / 8,
            evidence=self.evidence,
        )

    def draw(self, rng: RandomSource) -> None:
        """Nothing: the weights need the data."""

    def ranks(self, cell: int) -> Ranks:
        """What is asked for in a cell."""
        ask = ranks_of if self.has_ends else plain_ranks
        return ask(max(self.sizes[cell], 1), self.q, self.level_epsilon, self.neighbours.max_rows)

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Grid points for each quantile of each cell and its ends, in the order of their ranks; structural zeros stay
        zero.
        """
        structural = set(self.space.structural_indices)
        answers = np.zeros((self.space.size, self.answers), dtype=np.int64)
        fine, rows = self.fineness, self.neighbours.max_rows
        for cell, sealed in enumerate(exact):
            content = sealed.open_below_the_gate()
            blocks = self.blocks
            listed = content if blocks is None else blocks.listed(blocks.drawn(content, rng))
            values = spread(np.clip(listed, self.low, self.high), fine, rng)
            ends = (self.low * fine, self.high * fine + fine - 1)
            chosen = select_all(values, *ends, self.ranks(cell).steps, self.epsilons, rows, rng)
            answers[cell] = 0 if cell in structural else np.array(chosen) // fine
        return Value(answers.reshape(-1))

    def block(self, outcome: Value) -> Block:
        """The released array."""
        labels = tuple(f"rank {k + 1}" for k in range(self.answers))
        axis = Axis(variable="rank", labels=labels)
        zeros = frozenset((*cell, k) for cell in self.space.structural_zeros for k in range(len(labels)))
        space = CellSpace((*self.space.axes, axis), zeros)
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="quantiles")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every list of answers of each cell, by the definition of the score, over all partitions where there are
        blocks. Guard: probabilities from the integer weights, tests/measurements/test_approximate_quantiles.py.
        """
        structural, parts = set(self.space.structural_indices), []
        for cell, values in enumerate(content):
            ends = (0, 0) if cell in structural else (self.low, self.high)
            lists = [(values, 1.0)] if self.blocks is None else self._parted(self.blocks, values)
            ask, rows = self.ranks(cell).steps, self.neighbours.max_rows
            laws = [(listed_quantiles(each, *ends, ask, self.epsilons, rows), chance) for each, chance in lists]
            logs = np.logaddexp.reduce([law.logs + log(chance) for law, chance in laws], axis=0)
            parts.append(Listed(laws[0][0].outcomes, np.asarray(logs)))
        if self.fineness == 1:
            return parts
        return Unlisted(
            "Records that share a value are parted by independent draws, too many to be gone through.",
            "tests/measurements/test_approximate_quantiles.py; the same selections on whole steps are listed.",
            parts,
        )

    @staticmethod
    def _parted(blocks: Blocks, values: IntArray) -> list[tuple[IntArray, float]]:
        """The different lists that blocks can report."""
        lists: dict[tuple[int, ...], float] = {}
        for reports, chance in reports_of(blocks, values):
            said = tuple(np.sort(blocks.listed(reports)).tolist())
            lists[said] = lists.get(said, 0.0) + chance
        return [(np.array(said, dtype=np.int64), chance) for said, chance in lists.items()]

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """A median between its ends."""
        step = cls(
            name="median",
            space=CellSpace(()),
            queries=(ValuesQuery(value="x"),),
            low=-1,
            high=2,
            epsilon=Fraction(4),
            neighbours=neighbours,
            q=(Fraction(1, 2),),
            sizes=(3,),
            fineness=1,
        )
        return (on_values(step),)
