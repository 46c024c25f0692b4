"""Grid points at public ranks of one variable in each cell, selected by the exponential mechanism: quantiles, bounds.

Guarantee
    The epsilons of all levels together; rho is the sum over levels of (epsilon of the level)^2 / 8. Each level parts a
    cell's records by released values, so that a record takes part in at most one selection of each level. A unit's rows
    move the scores of the selections that they are in by at most max(share, 1 - share) each when they are added or
    removed, however they are spread over cells and parts. Under replace one unit's rows leave and another's enter:
    twice that; where every selection is of one list, a replaced row moves one score and by at most one record.
    Where rows count by weights, a row counts at most the largest declared one, and scores are rounded down to public
    grains, by which a row may move a score once more.
    Quantiles of what a model says of random blocks of the data cost what they cost under replace: a unit with c rows
    replaces at most c entries of a list of public length, whichever relation makes two data sets neighbours.
Requires
    Declared bounds and step, or declared candidates; cells that do not depend on data; sizes, and offsets made of them,
    that are public or were released before.
Noise
    No additive noise: points are drawn with probability falling by each record that they are away from the rank. By
    depth the value that holds the rank also gains by every record that would have to change before it no longer did;
    no other odds change. With a fineness, records that share a value are parted by independent parts of a step.
Evidence
    Proved; exact output probabilities over all neighbours of tiny data, tests/measurements/test_grid_selection.py.
References
    Smith (2011); McSherry & Talwar (2007); Kaplan, Schnapp & Stemmer (2022) for several ranks; Dong, Durfee & Rogers
    (2020) for the bounded range; Nissim, Raskhodnikova & Smith (2007) for the blocks.

The number of distinct values in a cell shows in the run time: a hosted service must answer on a tick.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import log
from typing import Any, ClassVar

import numpy as np

from dalenius.algebra.block_quantiles import BlockRanks
from dalenius.algebra.points import PointTargets, Precision
from dalenius.algebra.ranks import Targets, WholeList
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Listed, Unlisted
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, RowsQuery, TableQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import ParameterError, TooLarge
from dalenius.exact.quantile_selection import Records, Score, check_rate
from dalenius.exact.several_quantiles import RankSelection, RankStep, row_moves, spread
from dalenius.measurements._example import CELLS, LISTS, MeasurementExample, on_cells, on_values, on_weights
from dalenius.measurements._listed_quantiles import listed_quantiles, reports_of
from dalenius.measurements.blocks.blocks import Blocks

MOST_CELLS, MOST_QUANTILES, MOST_CANDIDATES = 500, 100, 1000


@dataclass(frozen=True, kw_only=True)
class GridSelection:
    """Points for each cell, in steps, or their places among rising candidates, in the order in which ranks rise.

    `epsilons` are what all levels of each kind lose together at the neighbours it was made for, and `sizes` the public
    or released numbers of records by which `targets` are ranks. `axis` names the answers of a cell where there are
    several. Values are read in four other ways: by counts alone for a lower and an upper bound among `candidates`; as
    |x| where they are bounds of it, at least one step (`is_absolute`); as what a model says of random `blocks`; and as
    lines of cell, value and weight where a row counts up to `heaviest`.
    """

    name: str
    space: CellSpace
    queries: tuple[ValuesQuery | RowsQuery, ...]
    low: int
    high: int
    epsilons: tuple[Fraction, ...]
    neighbours: Neighbours
    targets: Targets
    sizes: tuple[int, ...] = ()
    step: Fraction = Fraction(1)
    score: Score = Score.DEPTH
    fineness: int = 1
    axis: Axis | None = None
    role: str = "quantile"
    candidates: tuple[int, ...] = ()
    is_absolute: bool = False
    blocks: Blocks | None = None
    heaviest: int | None = None
    evidence: ClassVar[Evidence] = Evidence(Level.PROVED, ("Smith (2011)", "Kaplan, Schnapp & Stemmer (2022)"))

    def __post_init__(self) -> None:
        qs = self.targets.qs
        if not qs or list(qs) != sorted(set(qs)) or not all(0 < q < 1 for q in qs):
            raise ParameterError("Shares q of quantiles lie between 0 and 1, rising, each once.", name="q")
        if self.space.size > MOST_CELLS or len(qs) > MOST_QUANTILES:
            raise TooLarge(
                f"At most {MOST_QUANTILES} quantiles of at most {MOST_CELLS} cells are selected together.",
                received=self.space.size,
                limit=MOST_CELLS,
            )
        if len(self.queries) != (self.space.size if self.heaviest is None else 1):
            raise ParameterError("There must be one list of values for each cell.")
        if self.candidates:
            self._check_candidates()
        for epsilon, moves in zip(self.level_epsilons, self.targets.moves, strict=True):
            for moved in moves:
                check_rate(epsilon, Fraction(self.neighbours.max_rows * row_moves(moved, self.heaviest or 1)))

    def _check_candidates(self) -> None:
        if len(self.candidates) < 2 or list(self.candidates) != sorted(set(self.candidates)):
            raise ParameterError("candidates are at least two rising numbers, each once.", name="candidates")
        if len(self.candidates) > MOST_CANDIDATES:
            raise TooLarge(
                f"At most {MOST_CANDIDATES:,} candidates are chosen among; received {len(self.candidates):,}.",
                received=len(self.candidates),
                limit=MOST_CANDIDATES,
            )
        if self.candidates[0] < self.low or self.candidates[-1] > self.high:
            raise ParameterError(
                f"candidates must lie inside the declared bounds of {self._counted.value!r}.", name="candidates"
            )

    def _sides(self, neighbours: Neighbours) -> Fraction:
        """How many times what is lost by a unit that is added one loses that is exchanged, or has its blocks change."""
        if self.blocks is None and not neighbours.is_replace:
            return Fraction(1)
        if self.targets.is_whole and self.space.size == 1 and self.heaviest is None:
            return 1 / max(max(q, 1 - q) for q in self.targets.qs)
        return Fraction(2)

    @cached_property
    def level_epsilons(self) -> tuple[Fraction, ...]:
        """What one level of each kind loses when all rows of a unit are added or removed."""
        sides = self._sides(self.neighbours)
        return tuple(e / (count * sides) for e, count in zip(self.epsilons, self.targets.levels, strict=True))

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        factor = self._sides(neighbours) * Fraction(neighbours.max_rows, self.neighbours.max_rows)
        lost = [(factor * e, count) for e, count in zip(self.level_epsilons, self.targets.levels, strict=True)]
        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=sum((count * e for e, count in lost), Fraction(0)),
            rho=sum((count * e * e for e, count in lost), Fraction(0)) / 8,
            evidence=self.evidence,
        )

    @property
    def law(self) -> Joint:
        listed = {"candidates": list(self.candidates)} if self.candidates else {"low": self.low, "high": self.high}
        levels = {"q": [plain(q) for q in self.targets.qs], "epsilons": [plain(e) for e in self.level_epsilons]}
        scored = {"rows": self.neighbours.max_rows, "score": str(self.score), "step": plain(self.step)}
        weighed = {} if self.heaviest is None else {"heaviest": self.heaviest}
        return Joint("grid_selection", levels | scored | weighed | listed)

    @property
    def needs(self) -> tuple[Query, ...]:
        if not self.candidates:
            return self.queries
        query = self._counted
        axis = Axis(variable=query.value, labels=tuple(str(cut) for cut in self.cuts[:-1]), cuts=self.cuts)
        return (TableQuery(space=CellSpace((axis,)), where=query.where),)

    def selection(self, cell: int, fine: int = 1) -> RankSelection:
        """How the points of a cell are selected, on a grid so much finer; cells of one size have one."""
        key = (self.sizes[cell] if self.sizes else 0, fine)
        if key not in self._by_size:
            self._by_size[key] = self._selection(*key)
        return self._by_size[key]

    @cached_property
    def _by_size(self) -> dict[tuple[int, int], RankSelection]:
        return {}

    def _selection(self, size: int, fine: int) -> RankSelection:
        kinds = zip(self.level_epsilons, self.targets.levels, strict=True)
        low, high = (0, len(self.candidates) - 1) if self.candidates else (self.low, self.high)
        return RankSelection(
            low=low * fine,
            high=high * fine + fine - 1,
            steps=self.targets.steps(size, self.level_epsilons, self.neighbours.max_rows * (self.heaviest or 1)),
            epsilons=tuple(e for e, count in kinds for _ in range(count)),
            most=self.neighbours.max_rows,
            score=self.score,
            heaviest=self.heaviest or 1,
        )

    def _lists(self, content: IntArray, steps: Sequence[RankStep], rng: RandomSource | None = None) -> list[Records]:
        """The list that each step selects from; a source of randomness parts records that share a value."""
        if not self.candidates:
            read, weights = (content, None) if self.heaviest is None else content.T
            values = np.clip(np.abs(read) if self.is_absolute else read, self.low, self.high)
            values = values if rng is None else spread(values, self.fineness, rng)
            return [Records.of(values, weights)] * len(steps)
        cuts, last = np.array(self.cuts[:-1]), len(self.candidates) - 1
        before = np.concatenate([[0], np.cumsum(content)])
        # A lower bound stands for all records up to the next candidate, an upper one for all down to the one before.
        down = np.clip(np.searchsorted(self.candidates, cuts, side="right") - 1, 0, last)
        up = np.clip(np.searchsorted(self.candidates, cuts), 0, last)
        return [Records(down if 2 * step.part < step.parts else up, before) for step in steps]

    @property
    def _counted(self) -> ValuesQuery:
        (query,) = self.queries
        assert isinstance(query, ValuesQuery), "candidates are bounds of one variable"
        return query

    @property
    def cuts(self) -> tuple[int, ...]:
        """Where values are cut to be counted: at every candidate, and behind it."""
        places = {self.low, self.high + 1, *self.candidates, *(each + 1 for each in self.candidates)}
        return tuple(sorted(places))

    def _cells(self, content: Sequence[IntArray]) -> Sequence[IntArray]:
        (query, *_) = self.queries
        return query.by_cell(content[0]) if isinstance(query, RowsQuery) and query.space is not None else content

    def draw(self, rng: RandomSource) -> None:
        """Nothing: the weights need the data."""

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        structural, fine, blocks = set(self.space.structural_indices), self.fineness, self.blocks
        answers = np.zeros((self.space.size, self.targets.count), dtype=np.int64)
        for cell, content in enumerate(self._cells([sealed.open_below_the_gate() for sealed in exact])):
            selection = self.selection(cell, fine)
            listed = content if blocks is None else blocks.listed(blocks.drawn(content, rng))
            lists = self._lists(listed, selection.steps, rng)
            chosen = np.array(selection.draw(lists, rng)) // fine
            answers[cell] = self._shown(np.zeros_like(chosen) if cell in structural else chosen)
        return Value(answers.reshape(-1))

    def _shown(self, points: IntArray) -> IntArray:
        if self.candidates:
            return np.array(parted(int(points[0]), int(points[1]), len(self.candidates)), dtype=np.int64)
        return np.maximum(points, 1) if self.is_absolute else points

    def block(self, outcome: Value) -> Block:
        count, space = self.targets.count, self.space
        axis = self.axis or Axis(variable="rank", labels=tuple(f"rank {k + 1}" for k in range(count)))
        if self.axis is not None or count > 1:
            zeros = frozenset((*cell, k) for cell in space.structural_zeros for k in range(count))
            space = CellSpace((*space.axes, axis), zeros)
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, role=self.role)

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every list of points of each cell, over all partitions where there are blocks. Guards: the recorder hears the
        weights; probabilities by the formula of the score alone, tests/measurements/test_grid_selection.py.
        """
        structural, parts = set(self.space.structural_indices), []
        for cell, values in enumerate(self._cells(content)):
            zero = self._shown(np.zeros(self.targets.count, dtype=np.int64))
            parts.append(Listed(zero[None], np.zeros(1)) if cell in structural else self._law_of(values, cell))
        if self.fineness == 1:
            return parts
        return Unlisted(
            "Records that share a value are parted by independent draws, too many to be gone through.",
            "tests/measurements/test_grid_selection.py; the same selections on whole steps are listed.",
            parts,
        )

    def _law_of(self, values: IntArray, cell: int) -> Listed:
        selection, lists = self.selection(cell), [(values, 1.0)]
        if self.blocks is not None:
            lists = [(self.blocks.listed(reports), chance) for reports, chance in reports_of(self.blocks, values)]
        laws = [(listed_quantiles(selection, self._lists(each, selection.steps)), chance) for each, chance in lists]
        logs = np.logaddexp.reduce([law.logs + log(chance) for law, chance in laws], axis=0)
        outcomes = laws[0][0].outcomes
        if not self.candidates and not self.is_absolute:
            return Listed(outcomes, np.asarray(logs))
        return Listed.of((self._shown(row).tolist(), p) for row, p in zip(outcomes, np.exp(logs).tolist(), strict=True))

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        listed = {"queries": (ValuesQuery(value="x"),), "space": CellSpace(()), "low": -1, "high": 2}
        by_cell = listed | {"queries": LISTS, "space": CELLS}
        half, quarter = (WholeList(qs=(Fraction(1, k),)) for k in (2, 4))
        between, beside = BlockRanks(qs=half.qs), PointTargets(qs=half.qs, precision=Precision(count=0.1))
        outer, candidates = WholeList(qs=(Fraction(1, 4), Fraction(3, 4))), (-1, 0, 2)
        distance = {"score": Score.DISTANCE}
        weighted = listed | {"queries": (RowsQuery(variables=("x", "w"), space=CellSpace(())),), "low": 0}

        def made(on: Callable[..., MeasurementExample], where: Any, targets: Targets, *eps: str, **more: Any) -> Any:
            epsilons = tuple(Fraction(e) for e in eps or ("2",))
            return on(cls(name="x", epsilons=epsilons, neighbours=neighbours, targets=targets, **where | more))

        return (
            *(made(on_values, listed, q, score=score) for score, q in product(Score, (half, quarter))),
            *(made(on_cells, by_cell, half, score=score) for score in Score),
            made(on_values, listed, between, "4", sizes=(3,), **distance),
            made(on_values, listed | {"low": 0}, beside, "3/2", "3/2", sizes=(3,)),
            made(on_cells, by_cell | {"low": 0}, WholeList(qs=(Fraction(3, 4),)), is_absolute=True, **distance),
            made(on_values, listed, outer, candidates=candidates, **distance),
            made(on_weights, weighted, beside, "3/2", "3/2", sizes=(60,), heaviest=40),
        )


def parted(lower: int, upper: int, many: int) -> tuple[int, int]:
    """Two places in order that are not the same: the upper bound is the next one, or the lower one the one before.

    >>> parted(2, 1, 4), parted(1, 1, 4), parted(3, 3, 4)
    ((1, 2), (1, 2), (2, 3))
    """
    first, last = min(lower, upper), max(lower, upper)
    if first < last:
        return first, last
    return (first, last + 1) if last + 1 < many else (first - 1, last)
