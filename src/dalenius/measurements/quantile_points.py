"""Points at and beside quantiles of each cell, selected exactly on disjoint parts of the data; a later count tests
them.

Guarantee
    The epsilons of quantiles and of points beside them together; rho is the sum over levels of (epsilon of the level)^2
    / 8. Each level parts a cell's records by released values, so that a record takes part in at most one selection of
    each level; a unit's rows move the scores of the selections that they are in by at most max(share, 1 - share) each.
    Under replace one unit's rows leave and another's enter: twice that, so that each level gets half.
Requires
    Declared bounds and step; cells that do not depend on data; sizes that are public or were released before. Offsets
    beside a quantile are made of these sizes, never of the number of records at hand.
Noise
    No additive noise: grid points are drawn with probability falling by each record that they are away from the rank
    asked for. One quantile alone is selected by depth; records that share a value are parted by independent uniform
    parts of a step where there are several.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data, tests/measurements/test_quantile_points.py.
References
    Smith (2011); Kaplan, Schnapp & Stemmer (2022); Dong, Durfee & Rogers (2020) for the bounded range.

The number of distinct values in a cell shows in the run time: a hosted service must answer on a tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dalenius.algebra.points import Precision, largest_parts, levels_beside, offsets_of, point_steps, points_of
from dalenius.algebra.ranks import Step, levels
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Part, Unlisted
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.quantile_selection import Score, check_rate
from dalenius.exact.several_quantiles import select_all, spread
from dalenius.measurements._example import MeasurementExample, on_values
from dalenius.measurements._listed_quantiles import listed_quantiles

__all__ = ["QuantilePoints"]

MOST_CELLS, MOST_QUANTILES = 500, 100
_FINE = 256


@dataclass(frozen=True, kw_only=True)
class QuantilePoints:
    """Quantiles of one numeric variable for each cell and the points beside them, in steps, in the order in which they
    rise.

    `epsilon` is what all levels of the quantiles lose together, `beside` what all levels of the other points do.
    """

    name: str
    space: CellSpace
    queries: tuple[ValuesQuery, ...]
    low: int
    high: int
    epsilon: Fraction
    beside: Fraction
    neighbours: Neighbours
    q: tuple[Fraction, ...]
    sizes: tuple[int, ...]
    precision: Precision
    step: Fraction = Fraction(1)
    fineness: int | None = None
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED, references=("Smith (2011)", "Kaplan, Schnapp & Stemmer (2022)")
    )

    def __post_init__(self) -> None:
        if not self.q or list(self.q) != sorted(set(self.q)) or not all(0 < q < 1 for q in self.q):
            raise ParameterError("Shares q of quantiles lie between 0 and 1, rising, each once.", name="q")
        if self.space.size > MOST_CELLS or len(self.q) > MOST_QUANTILES:
            raise TooLarge(
                f"At most {MOST_QUANTILES} quantiles of at most {MOST_CELLS} cells are selected together.",
                received=self.space.size,
                limit=MOST_CELLS,
            )
        for epsilon, parts in zip(self.level_epsilons, largest_parts(self.q), strict=True):
            for moved in (parts, -(-parts // 2)):
                check_rate(epsilon, Fraction(moved * self.neighbours.max_rows))

    @property
    def levels(self) -> tuple[int, int]:
        """In how many selections of quantiles, and of points beside them, a record takes part."""
        return levels(len(self.q)), levels_beside(len(self.q))

    @property
    def level_epsilons(self) -> tuple[Fraction, Fraction]:
        """What one level of each kind loses when all rows of a unit are added or removed."""
        sides = 2 if self.neighbours.is_replace else 1
        first, second = self.levels
        return self.epsilon / (first * sides), self.beside / (second * sides)

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """The same, level by level."""
        pairs = zip(self.level_epsilons, self.levels, strict=True)
        return tuple(epsilon for epsilon, count in pairs for _ in range(count))

    @property
    def score(self) -> Score:
        """Depth where no record is moved off its value."""
        return Score.DEPTH if self._fineness == 1 else Score.DISTANCE

    @property
    def is_open(self) -> bool:
        """Whether values at an answer are in no later part: where they are not parted themselves."""
        return self._fineness == 1

    @property
    def _fineness(self) -> int:
        usual = 1 if len(self.q) == 1 else _FINE
        return usual if self.fineness is None else self.fineness

    @property
    def law(self) -> Joint:
        """Public parameters of the selections."""
        return Joint(
            "quantile_points",
            {
                "q": [plain(q) for q in self.q],
                "epsilons": [plain(epsilon) for epsilon in self.level_epsilons],
                "low": self.low,
                "high": self.high,
                "step": plain(self.step),
                "rows": self.neighbours.max_rows,
            },
        )

    @property
    def needs(self) -> tuple[Query, ...]:
        """The sorted values of each cell."""
        return self.queries

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """Rows of a unit cost in proportion; a replaced unit counts twice."""
        sides = 2 if neighbours.is_replace else 1
        factor = sides * Fraction(neighbours.max_rows, self.neighbours.max_rows)
        lost = [factor * epsilon for epsilon in self.epsilons]
        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=sum(lost, Fraction(0)),
            rho=sum((each * each for each in lost), Fraction(0)) / 8,
            evidence=self.evidence,
        )

    def draw(self, rng: RandomSource) -> None:
        """Nothing: the weights need the data."""

    def offsets(self, cell: int) -> tuple[tuple[int, int, int], ...]:
        """How many records the points of a cell are away from its quantiles."""
        size, rows = max(self.sizes[cell], 1), self.neighbours.max_rows
        return offsets_of(self.q, size, *self.level_epsilons, rows, self.precision)

    def steps(self, cell: int) -> tuple[Step, ...]:
        """What is asked for in a cell."""
        return point_steps(self.q, max(self.sizes[cell], 1), self.offsets(cell))

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Grid points of each cell; structural zeros stay zero."""
        structural, fine = set(self.space.structural_indices), self._fineness
        answers = np.zeros((self.space.size, len(points_of(len(self.q)))), dtype=np.int64)
        for cell, sealed in enumerate(exact):
            values = spread(np.clip(sealed.open_below_the_gate(), self.low, self.high), fine, rng)
            chosen = select_all(
                values,
                self.low * fine,
                self.high * fine + fine - 1,
                self.steps(cell),
                self.epsilons,
                self.neighbours.max_rows,
                rng,
                score=self.score,
                is_open=self.is_open,
            )
            answers[cell] = 0 if cell in structural else np.array(chosen) // fine
        return Value(answers.reshape(-1))

    def block(self, outcome: Value) -> Block:
        """The released array."""
        labels = tuple(f"point {k + 1}" for k in range(len(points_of(len(self.q)))))
        axis = Axis(variable="point", labels=labels)
        zeros = frozenset((*cell, k) for cell in self.space.structural_zeros for k in range(len(labels)))
        space = CellSpace((*self.space.axes, axis), zeros)
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role="points")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every list of points of each cell, by the definition of the score. Guard: probabilities from the integer
        weights, tests/measurements/test_quantile_points.py.
        """
        if self._fineness > 1:
            return Unlisted(
                "Records that share a value are parted by independent draws, too many to be gone through.",
                "tests/measurements/test_quantile_points.py; the same selections on whole steps are listed.",
                self._listed(content, is_by_depth=False),
            )
        return self._listed(content, is_by_depth=True)

    def _listed(self, content: Sequence[Any], *, is_by_depth: bool) -> Sequence[Part]:
        structural, rows, parts = set(self.space.structural_indices), self.neighbours.max_rows, list[Part]()
        for cell, values in enumerate(content):
            ends = (0, 0) if cell in structural else (self.low, self.high)
            law = listed_quantiles(values, *ends, self.steps(cell), self.epsilons, rows, is_by_depth=is_by_depth)
            parts.append(law)
        return parts

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """A median and its points on a grid of three."""
        step = cls(
            name="points",
            space=CellSpace(()),
            queries=(ValuesQuery(value="x"),),
            low=0,
            high=2,
            epsilon=Fraction(3, 2),
            beside=Fraction(3, 2),
            neighbours=neighbours,
            q=(Fraction(1, 2),),
            sizes=(3,),
            precision=Precision(count=0.1, size=0.0, has_sampling=False),
        )
        return (on_values(step),)
