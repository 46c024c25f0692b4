"""An upper quantile of |x| in each cell, learned privately: the bounds of a later table of clipped totals.

Guarantee
    epsilon-DP in one step for all cells: a row lies in one cell, so adding or removing it touches one selection (c
    rows:
    up to c); replacing it touches two. rho is c (or 2c) times epsilon^2 / 8, the bounded range of each selection.
Requires
    Declared bounds and step of the variable; disjoint declared cells.
Noise
    The exponential mechanism on the grid 0, 1, ..., largest declared |x|, cell by cell.
Evidence
    Proved (as `exponential_quantile`, with parallel composition over declared cells).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.quantile_selection import probabilities, score_change, score_weights, select
from dalenius.measurements._example import CELLS, LISTS, MeasurementExample, on_cells

__all__ = ["LearnedBounds", "cell_queries"]

MOST_CELLS = 500


def cell_queries(
    domain: Domain, variable: str, space: CellSpace, where: tuple[Filter, ...] = ()
) -> tuple[ValuesQuery, ...]:
    """The values of one variable in every cell of a space, as filters on the axes; structural zeros included."""
    if space.size > MOST_CELLS:
        raise TooLarge(
            f"Values of {variable!r} are read cell by cell, in tables of at most {MOST_CELLS} cells; this one has "
            f"{space.size:,}. Leave out a variable, use a coarser level, or ask for some of the categories at a time.",
            limit=MOST_CELLS,
            received=space.size,
        )
    _ = domain.variable(variable).bounds
    choices: list[list[Filter]] = []
    for axis in space.axes:
        if axis.cuts:
            cells = zip(axis.cuts[:-1], axis.cuts[1:], strict=True)
            choices.append([Filter(variable=axis.variable, low=a, high=b - 1) for a, b in cells])
        else:
            groups = [tuple(c for c, to in enumerate(axis.codes) if to == i) for i in range(len(axis))]
            choices.append([Filter(variable=axis.variable, codes=codes) for codes in groups])
    return tuple(ValuesQuery(value=variable, where=(*where, *filters)) for filters in product(*choices))


@dataclass(frozen=True, kw_only=True)
class LearnedBounds:
    """One grid point for each cell: roughly the q-quantile of |x| there, at least `least`."""

    name: str
    space: CellSpace
    queries: tuple[ValuesQuery, ...]
    largest: int
    epsilon: Fraction
    q: Fraction = Fraction(95, 100)
    least: int = 1
    evidence: ClassVar[Evidence] = Evidence(level=Level.PROVED, references=("Smith (2011)",))

    def __post_init__(self) -> None:
        if len(self.queries) != self.space.size:
            raise ParameterError("There must be one list of values for each cell.")
        if not 1 <= self.least <= self.largest:
            raise ParameterError("The least bound lies between one step and the declared one.", name="least")
        score_weights(self.epsilon, self._change, 0, self.largest)

    @property
    def _change(self) -> Fraction:
        return score_change(self.q, is_replace=False, rows=1)

    @property
    def law(self) -> Joint:
        """Public parameters of the selections."""
        return Joint(
            "exponential_quantile", {"q": plain(self.q), "epsilon": plain(self.epsilon), "low": 0, "high": self.largest}
        )

    @property
    def needs(self) -> tuple[Query, ...]:
        """The values of every cell."""
        return self.queries

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        """One selection for each row that can move, two if rows are replaced."""
        touched = neighbours.max_rows * (2 if neighbours.is_replace else 1)
        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=touched * self.epsilon,
            rho=_rho(touched, self.epsilon),
            evidence=self.evidence,
        )

    def draw(self, rng: RandomSource) -> None:
        """Nothing: the weights need the data."""

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """One selection a cell."""
        w = score_weights(self.epsilon, self._change, 0, self.largest)
        lists = (np.sort(np.abs(sealed.open_below_the_gate())) for sealed in exact)
        bounds = [max(self.least, select(x, 0, self.largest, self.q, w, rng)) for x in lists]
        return Value(np.array(bounds, dtype=np.int64))

    def block(self, outcome: Value) -> Block:
        """The bounds, published with the totals."""
        return Block(name=self.name, space=self.space, values=outcome.values, law=self.law, role="bounds")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every bound of each cell, by the weights that are drawn from. Guards: those of `exponential_quantile`, and
        probabilities from the score alone in tests/measurements/test_learned_bounds.py.
        """
        weights = score_weights(self.epsilon, self._change, 0, self.largest)
        laws = [probabilities(np.sort(np.abs(values)), 0, self.largest, self.q, weights) for values in content]
        return [Listed.of(((max(self.least, b),), p) for b, p in enumerate(law)) for law in laws]

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        """Two cells."""
        return (
            on_cells(cls(name="bounds", space=CELLS, queries=LISTS, largest=2, epsilon=Fraction(2), q=Fraction(3, 4))),
        )


def _rho(touched: int, epsilon: Fraction) -> Fraction:
    """All rows may fall into one cell, whose loss is then touched * epsilon of bounded range: its square counts."""
    return (touched * epsilon) ** 2 / 8
