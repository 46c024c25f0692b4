"""Noisy totals of several bootstrap samples of the same file, for each cell: what a private bootstrap publishes.

Guarantee
    The loss distribution of `exact/resampling_price.py`: (epsilon, delta) of all replicates together, and the rho that
    they have outside an event of probability delta. There is no pure statement and no rho without a delta.
Requires
    Rows each in at most one cell, with contributions of at most `reach` in size. For units of one row under replace
    noise of at least `reach` in each replicate, which `profile` checks; units of several rows are priced as if the
    multiplicities of their rows were published (`exact/resampled_loss.py`). Multiplicities are Poisson(1) for each row,
    drawn anew for every replicate from the source of all noise, and never shown. Beside the replicates the step may
    measure sums over the rows themselves, once: their number, and the squares of what they add, rounded to a public
    grid. The whole step has one price.
Noise
    Discrete Gaussian in every replicate and every sum of every cell, drawn before the data are read.
Evidence
    Proved; the one step under replace that is a numerical comparison is evaluated anew at every shift
    (`exact/replaced_pair.py`).
    Exact losses of all neighbours of tiny data, tests/measurements/test_resampled_totals.py.
References
    Brawner & Honaker (2018), section 6, with the price that it really has; Wang, Cheng & Awan (2022).

The number of distinct values in a cell shows in the run time: a hosted service must answer on a tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import exp, lgamma, log
from typing import Any, ClassVar

import numpy as np

from dalenius.algebra.influence import InfluenceRows
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import ExactLaw, Mixed, Noised, Part, Unlisted
from dalenius.core.law import IntArray, Joint
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Query, RowsQuery, TableQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.rationals import plain
from dalenius.core.release import Block, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.errors import Unsupported
from dalenius.exact.ideal_rounding import saturated
from dalenius.exact.multiplicities import resampled_totals
from dalenius.exact.resampling_price import Beside, ResamplingPrice
from dalenius.exact.sampling import sample
from dalenius.measurements._example import CELLS, LISTS, MeasurementExample, on_cells
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

STRUCTURE = "resampled totals"
COUNT, SQUARES = "count", "squares"
# What rows add is written in so many steps before it is squared, so that sums of squares stay far from the limits of
# integers.
_SQUARED_STEPS = 4096
_MOST_BITS = 48
# Beyond these nothing is listed of the law.
_MOST_MULTIPLICITY, _FAINTEST, _LISTED = 30, 1e-40, 4


@dataclass(frozen=True, kw_only=True)
class ResampledTotals:
    """sum of multiplicity * (factor * value - offset), plus noise, for every cell and replicate.

    What rows add comes from lists of values, one for each cell, or from a table of counts whose last axis says which of
    `contributions` a row adds, or, where cells differ, which of those `by_cell`, or is how far each of `rows` moves an
    estimate, in parts of the reach. `statement` is the epsilon that the whole step was calibrated to, `failure` its
    delta.
    `sums` names what is measured once beside the replicates, in the order of the price: `count` and `squares`.
    """

    name: str
    space: CellSpace
    price: ResamplingPrice
    failure: Fraction
    statement: Fraction | None = None
    lists: tuple[ValuesQuery, ...] = ()
    counting: TableQuery | None = None
    rows: InfluenceRows | None = None
    contributions: tuple[int, ...] = ()
    by_cell: tuple[tuple[int, ...], ...] = ()
    factor: int = 1
    offset: int = 0
    unit: Fraction = Fraction(1)
    sums: tuple[str, ...] = ()
    evidence: ClassVar[Evidence] = Evidence(
        level=Level.PROVED,
        references=("Brawner & Honaker (2018), corrected", "Wang, Cheng & Awan (2022)"),
        assumptions=("multiplicities are drawn from the same generator as the noise and are never shown",),
    )

    @cached_property
    def noise(self) -> DiscreteGaussian:
        return DiscreteGaussian(self.price.sigma_squared)

    @cached_property
    def sum_noises(self) -> tuple[DiscreteGaussian, ...]:
        return tuple(DiscreteGaussian(variance) for variance in self.price.variances)

    @property
    def law(self) -> Joint:
        price = self.price
        drawn = {"multiplicities": "poisson", "replicates": price.replicates}
        noise = {"sigma_squared": plain(price.sigma_squared), "reach": price.reach, "unit": plain(self.unit)}
        rows = {"rows": price.rows} if price.rows > 1 else {}
        return Joint(STRUCTURE, drawn | noise | rows | sums_law(price, self.sums))

    @property
    def needs(self) -> tuple[Query, ...]:
        if self.rows is not None:
            return (self.rows.query,)
        return self.lists if self.counting is None else (self.counting,)

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        if neighbours.scope is not Scope.ALL_DATA or neighbours.max_rows > self.price.rows:
            raise Unsupported("These replicates were calibrated for units or groups of fewer rows.")
        if neighbours.is_replace != self.price.is_replace:
            raise Unsupported("These replicates were calibrated for other neighbours.")
        rho, failure = self.price.rho(self.failure)
        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=self.statement,
            delta=Fraction(0) if self.statement is None else self.failure,
            rho=rho,
            rho_delta=failure,
            curve=self.price.delta,
            evidence=self.evidence,
        )

    def draw(self, rng: RandomSource) -> IntArray:
        cells = self.space.size
        noise = sample(self.noise, cells * self.price.replicates, rng).reshape(cells, self.price.replicates)
        columns = [sample(law, cells, rng).reshape(cells, 1) for law in self.sum_noises]
        noise = np.concatenate([noise, *columns], axis=1)
        noise[list(self.space.structural_indices)] = 0
        return noise

    def run(self, exact: tuple[Sealed[IntArray], ...], drawn: Any, rng: RandomSource) -> Outcome:
        answer = np.zeros((self.space.size, self.price.replicates + len(self.sums)), dtype=np.int64)
        structural = set(self.space.structural_indices)
        for cell, (values, counts) in enumerate(self._added([s.open_below_the_gate() for s in exact])):
            if cell not in structural:
                totals = resampled_totals(values, counts, self.price.replicates, rng)
                totals += self.summed(values, counts)
                noisy = zip(totals, drawn[cell].tolist(), strict=True)
                answer[cell] = [saturated(total + noise) for total, noise in noisy]
        return Value(answer.ravel())

    def summed(self, values: IntArray, counts: IntArray) -> list[int]:
        """The sums beside the replicates, from what rows of a cell add and how many add it."""
        made = {COUNT: counts, SQUARES: counts * squared(values, self.price.reach)}
        return [int(made[name].sum()) for name in self.sums]

    def _added(self, content: list[IntArray]) -> list[tuple[IntArray, IntArray]]:
        if self.rows is not None:
            cell, shares = self.rows.shares(content[0])
            added = np.rint(self.price.reach * shares).astype(np.int64)
            lists = (added[cell == place] for place in range(self.space.size))
            return [np.unique(values, return_counts=True) for values in lists]
        if self.counting is None:
            pairs = [np.unique(values, return_counts=True) for values in content]
            return [(self.factor * values - self.offset, counts) for values, counts in pairs]
        table = content[0].reshape(self.space.size, len(self.contributions))
        added = np.array(self.by_cell or (self.contributions,) * len(table), dtype=np.int64)
        return list(zip(added, table, strict=True))

    @cached_property
    def whole_space(self) -> CellSpace:
        name, taken = "replicate", {axis.name for axis in self.space.axes}
        while name in taken:
            name += "_"
        labels = (*(str(k + 1) for k in range(self.price.replicates)), *self.sums)
        zeros = frozenset((*cell, k) for cell in self.space.structural_zeros for k in range(len(labels)))
        return CellSpace((*self.space.axes, Axis(variable=name, labels=labels)), zeros)

    def block(self, outcome: Value) -> Block:
        return Block(name=self.name, space=self.whole_space, values=outcome.values, law=self.law, role="replicates")

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Each replicate of each cell by itself, and the sums. Guard: tests/measurements/test_resampled_totals.py."""
        structural, parts = set(self.space.structural_indices), list[Part]()
        # Sums of many different numbers are too many to be listed: nearby ones on a coarse grid are.
        coarse = max(self.price.reach // _LISTED, 1) if self.rows is not None else 1
        for cell, (added, counts) in enumerate(self._added(list(content))):
            values = np.rint(added / coarse).astype(np.int64) * coarse
            if cell in structural:
                bare = self.price.replicates + len(self.sums)
                parts.append(Noised([0] * bare, [None] * bare))
                continue
            listed: dict[int, int] = {}
            for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                if value and count:
                    listed[value] = listed.get(value, 0) + count
            centres = _compound(listed)
            parts += [Mixed(self.noise, centres)] * self.price.replicates
            parts.append(Noised(self.summed(values, counts), self.sum_noises))
        if coarse == 1:
            return parts
        return Unlisted(
            reason="rows add many different numbers, whose sums are too many to be listed",
            evidence="tests/measurements/test_resampled_totals.py",
            nearest=parts,
        )

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        noise, rows = Fraction(16), neighbours.max_rows
        price = ResamplingPrice(reach=3, sigma_squared=noise, replicates=2, rows=rows, has_cells=True)
        price, failure = replace(price, is_replace=neighbours.is_replace), Fraction(1, 10**4)
        step = cls(name="replicates", space=CELLS, price=price, failure=failure, lists=LISTS, factor=2, offset=1)
        sums = (COUNT, SQUARES)
        both = replace(step, sums=sums, price=replace(price, beside=beside(sums, price.reach, Fraction(1, 5))))
        moved = InfluenceRows(
            query=RowsQuery(variables=("x",), space=CELLS), exponents=((0,), (1,)), points=((0.5, 0.25, 1.0, 2.0),) * 2
        )
        return (on_cells(step), on_cells(both), on_cells(replace(step, lists=(), rows=moved)))


def _compound(added: dict[int, int]) -> dict[int, float]:
    """The law of a sum of Poisson numbers of each value, up to multiplicities that are never met."""
    totals = {0: 1.0}
    for value, count in added.items():
        odds = [exp(k * log(count) - count - lgamma(k + 1)) for k in range(_MOST_MULTIPLICITY + 3 * count)]
        further: dict[int, float] = {}
        for total, chance in totals.items():
            for k, p in enumerate(odds):
                if chance * p > _FAINTEST:
                    further[total + k * value] = further.get(total + k * value, 0.0) + chance * p
        totals = further
    return totals


def largest_square(reach: int) -> int:
    """The most that a row adds to the sum of squares, on its public grid."""
    return min(reach, _SQUARED_STEPS) ** 2


def squared(values: IntArray, reach: int) -> IntArray:
    """Squares of what rows add; what is larger than the steps of the grid is first rounded to them."""
    if reach <= _SQUARED_STEPS:
        return np.asarray(values.astype(np.int64) ** 2)
    shift = max(reach.bit_length() - _MOST_BITS, 0)
    size, most = np.abs(values.astype(np.int64)) >> shift, reach >> shift
    return np.asarray(np.minimum((2 * size * _SQUARED_STEPS + most) // (2 * most), _SQUARED_STEPS) ** 2)


def beside(sums: tuple[str, ...], reach: int, share: Fraction) -> tuple[Beside, ...]:
    largest = {COUNT: 1, SQUARES: largest_square(reach)}
    return tuple(Beside(largest=largest[name], share=share) for name in sums)


def sums_law(price: ResamplingPrice, sums: tuple[str, ...]) -> dict[str, Any]:
    """What is public about the sums beside the replicates: names, variances, and a step of squares, squared."""
    if not sums:
        return {}
    unit = Fraction(price.reach**2, largest_square(price.reach))
    variances = [plain(variance) for variance in price.variances]
    return {"sums": list(sums), "sum_variances": variances, "square_unit": plain(unit)}
