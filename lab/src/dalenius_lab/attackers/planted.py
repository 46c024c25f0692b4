"""The faults that attackers must find, each in the corner of the grammar in which it shows.

Each is one wrong line of the kind that has been written before: a person's rows counted as one, a replaced row counted
once, a dropped probability, a bound that is not applied. `FAULTS` are for the exact losses between neighbours,
`AT_THE_DATA` for definitions whose noise follows the data, `UNDERSTATED` for the recorder of noise, which compares
distances and not losses, `PEEKING` for plans that look at more than documents.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from dalenius.algebra import ranges
from dalenius.algebra.amounts import Amounts
from dalenius.algebra.ranges import Factor
from dalenius.core import conversions
from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.curator.curator import Curator
from dalenius.curator.planner import Planner
from dalenius.engines.memory import MemorySource
from dalenius.errors import Unsupported
from dalenius.exact import several_quantiles
from dalenius.exact.amplification import SecretSample
from dalenius.exact.smooth_noise import LaplaceLogNormal
from dalenius.measurements import block_totals, factored_table, fourier, keyed_list, label_selection, residual
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.measurements.cascade import Cascade
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.grid_selection import GridSelection
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.measurements.noisy import Noisy
from dalenius.measurements.propose_test_release import ProposeTestRelease
from dalenius.measurements.resampled_totals import ResampledTotals
from dalenius.measurements.residual import Residual
from dalenius.measurements.selections import cells
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.plans.counts import ranges as ranged_count
from dalenius.plans.margins.strategies import fourier as fourier_strategy
from dalenius.plans.replicates import Resampled
from dalenius.statistics import count as count_statistic
from dalenius.statistics.clipped_table import ClippedTable
from dalenius.statistics.count import Count
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.mean import Mean
from dalenius.statistics.persons import Persons
from dalenius.statistics.point_counts import PointCounts
from dalenius.statistics.quantile import Quantile
from dalenius.statistics.row_sums import RowSums
from dalenius.statistics.squared_influence import SquaredInfluence
from dalenius.statistics.weighted_count import WeightedCount
from dalenius_lab import planting
from dalenius_lab.planting import Wrong, as_added, stated_as, with_neighbours

Keys = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Corner:
    """A part of the grammar: a method, a definition, and keys that are fixed; one that is None is left out."""

    method: str
    definition: str = "pure"
    keys: Keys = field(default_factory=dict)


@dataclass(frozen=True)
class Fault(planting.Fault):
    """One wrong line, and where it shows."""

    corner: Corner


def _at(where: Any, attribute: str, wrong: Wrong, corner: Corner) -> Fault:
    return Fault("", where, attribute, wrong, corner)


def _named(faults: Mapping[str, Fault]) -> tuple[Fault, ...]:
    return tuple(replace(fault, name=name) for name, fault in faults.items())


# The planner's own noise: some of what may be named takes long to plan, and the fault is elsewhere.
PLAIN_COUNT: Mapping[str, object] = dict.fromkeys(
    ["weight", "margins", "universe", "objective", "keyed", "sample", "ranges", "refine", "learn"]
)
_SEX_AND_TWO: Mapping[str, object] = {"margins": "all", "universe": "complete", "rows": ["sex", "two"]}


def _count(definition: str = "pure", privacy: Mapping[str, object] | None = None, **table: Any) -> Corner:
    plain = dict.fromkeys(("mechanism", "noise", "strategy"))
    keys: Keys = {"privacy": {**plain, **(privacy or {})}, "table": {**PLAIN_COUNT, **table}}
    return Corner("count", definition, keys)


def _total(definition: str = "pure", privacy: Mapping[str, object] | None = None, **table: Any) -> Corner:
    plain = dict.fromkeys(("error", "replicates", "weight", "margins", "universe", "objective"))
    return Corner("total", definition, {"table": {**plain, **table}, "privacy": {"strategy": None, **(privacy or {})}})


_BY_DISTANCE = {"score": "distance"}


def _median(definition: str = "pure", noise: Any = None, **table: Any) -> Corner:
    return Corner("median", definition, {"table": {"error": None, **table}, "privacy": {"noise": noise}})


def _ranges(definition: str = "zero_concentrated", strategy: str = "hierarchical") -> Corner:
    return _count(definition, {"strategy": strategy, "delta": None}, rows=["region"], ranges={"region": "all"})


def _residual(definition: str, **privacy: object) -> Corner:
    return _count(definition, {"strategy": "residual", **privacy}, **_SEX_AND_TWO)


def _blocks_of(**table: object) -> Corner:
    plain: Mapping[str, object] = {"model": "gaussian_mean", "clip": [0, 1], "correction": "none", "where": None}
    return Corner("sample_and_aggregate", "pure", {"table": {**plain, **table}, "privacy": {"epsilon": "2.5"}})


def _concentrated(
    measure: str, privacy: Mapping[str, object] | None = None, table: Mapping[str, object] | None = None
) -> Corner:
    plain = dict.fromkeys(("mechanism", "noise", "strategy", "epsilon", "delta"))
    keys: Keys = {"privacy": {**plain, "definition": "zero_concentrated", "rho": "1/2", **(privacy or {})}}
    return Corner(measure, "", {**keys, "table": table or {}})


_TREE_OF = {"rows": ["region", "sex"], "margins": [["region", "sex"], ["region.half"]], "universe": "complete"}
_TREE = _count("zero_concentrated", {"strategy": "tree", "delta": None}, **_TREE_OF, objective="cells")
_FOURIER = _count("pure", {"strategy": "fourier"}, **_SEX_AND_TWO)
_KEYED = _count(privacy={"mechanism": "discrete_laplace"}, keyed=True)
_TOTALS_BY_RESIDUALS = _total(
    "zero_concentrated", {"strategy": "residual", "mechanism": None, "delta": None}, learn=None, **_SEX_AND_TWO
)
_MEAN_OF_BLOCKS = _blocks_of(blocks=3, aggregate="mean", error="noise")
_TESTED = Corner("propose_test_release", "approximate")
_SEVERAL_BOUNDS = Corner(
    "propose_test_release",
    "approximate",
    {
        "table": {"bounds": [1, 2], "estimate": None, "q": None, "where": None},
        "privacy": {"epsilon": "2.5", "delta": "0.01"},
    },
)
_REPLICATES = Corner(
    "total",
    "approximate",
    {
        "table": {"error": "bootstrap", "replicates": 2, "learn": None, "rows": None, "where": None, "weight": None},
        "privacy": {"mechanism": None, "epsilon": "1", "delta": "1e-6"},
    },
)
_BOUNDS_OF_MEAN: Mapping[str, object] = {"learn": "9/10", "clip": [0, 1, 3], "beyond": "1/4"}
_NOT_BY_CELL: Mapping[str, object] = {"rows": None, "where": None}


def _half_price(right: Wrong) -> Wrong:
    def wrong(self: Any, *arguments: Any) -> PrivacyProfile:
        profile: PrivacyProfile = right(self, *arguments)
        epsilon = None if profile.epsilon is None else profile.epsilon / 2
        rho = None if profile.rho is None else profile.rho / 2
        return replace(profile, sharpened=None, epsilon=epsilon, rho=rho)

    return wrong


def _quarter_price(right: Wrong) -> Wrong:
    return _half_price(_half_price(right))


def _half(right: Wrong) -> Wrong:
    return lambda *a, **k: right(*a, **k) / 2


def _half_sensitivity(right: Wrong) -> Wrong:
    return lambda self, neighbours: right(self, neighbours).times(Fraction(1, 2))


def _got(change: Wrong) -> Wrong:
    """A property, changed."""
    return lambda right: property(lambda self: change(self, right.fget(self)))


def _square_root(right: Wrong) -> Wrong:
    return lambda self, neighbours: right(replace(self, largest=isqrt(self.largest)), neighbours)


def _without_zeros(right: Wrong) -> Wrong:
    return lambda self, query: right(self, replace(query, space=CellSpace(query.space.axes)))


def _keyed_alike(right: Wrong) -> Wrong:
    return lambda law, cells, secret, described: right(law, cells, secret, {**described, "fingerprint": ""})


def _beyond_the_range(right: Wrong) -> Wrong:
    """What blocks say, wherever it lies."""

    def wrong(self: Blocks, thetas: Sequence[float]) -> Any:
        places = (np.array(thetas) - float(self.lower)) / float(self.upper - self.lower) * self.width + 0.5
        return np.where(np.isfinite(places), np.floor(places), right(self, thetas)).astype(np.int64)

    return wrong


def _half_reach(right: Wrong) -> Wrong:
    def wrong(*arguments: Any, **keys: Any) -> Resampled:
        added: Resampled = right(*arguments, **keys)
        return replace(added, reach=max(added.reach // 2, 1))

    return wrong


def _without_the_top(right: Wrong) -> Wrong:
    """The tree of an axis without its longest runs."""

    def lowered(factor: Factor) -> Factor:
        longest = max((after - first for first, after, _ in factor.intervals), default=0)
        shorter = tuple(run for run in factor.intervals if run[1] - run[0] < longest)
        return replace(factor, intervals=shorter) if shorter else factor

    return lambda factors, **k: right(tuple(lowered(factor) for factor in factors), **k)


def _little_noise(_: Any) -> property:
    return property(lambda step: tuple(DiscreteGaussian(v / 256) for v in step.price.variances))


_RANGED = (factored_table, ranged_count)
_one_row = with_neighbours(max_rows=1)
FAULTS = _named(
    {
        "a person's rows count as one in a table": _at(Count, "sensitivity", _one_row, _count()),
        "a replaced row leaves and enters nothing": _at(Count, "sensitivity", as_added, _count(rows=["sex"])),
        "a replaced value counts once": _at(MagnitudeTable, "sensitivity", as_added, _total()),
        "a person's values count as one": _at(MagnitudeTable, "sensitivity", _one_row, _total()),
        "weights are priced by their square roots": _at(
            WeightedCount, "sensitivity", _square_root, _count(weight="weight")
        ),
        "the error of the design is priced by half of its squares": _at(
            RowSums, "sensitivity", _half_sensitivity, Corner("mean", keys={"table": {"weight": "weight"}})
        ),
        "a person adds half of the bound to all cells together": _at(
            ClippedTable, "sensitivity", _half_sensitivity, Corner("clipped_count")
        ),
        "no row of a person is left out": _at(
            MemorySource, "_keep", lambda _: lambda self, rows, secret: rows, _count()
        ),
        "a declared impossible cell shows its rows": _at(
            MemorySource, "table", _without_zeros, _count(rows=["sex", "region"])
        ),
        "noise is booked at half its price": _at(
            DiscreteLaplace, "profile", _half_price, _count(privacy={"mechanism": "discrete_laplace"})
        ),
        "normal noise is booked at half its price": _at(
            DiscreteGaussian, "profile", _half_price, _count("zero_concentrated", {"mechanism": "discrete_gaussian"})
        ),
        "one number of a list is booked at half its price": _at(Noisy, "profile", _half_price, Corner("dominance")),
        "a quantile's score moves by half": _at(
            several_quantiles, "score_moves", _half, _median(noise=_BY_DISTANCE, method="exponential", rows=None)
        ),
        "by depth a quantile's score moves by half": _at(
            several_quantiles, "score_moves", _half, _median(method="exponential", rows=None)
        ),
        "a person's rows move one quantile as one": _at(
            several_quantiles,
            "score_moves",
            lambda right: lambda step, most, *grain: right(step, 1, *grain),
            _median(method="exponential", rows=["sex"]),
        ),
        "points beside a quantile forget that a row is replaced": _at(
            GridSelection, "profile", as_added, _median("pure", method=None, **_NOT_BY_CELL)
        ),
        "counts between points forget that a row is replaced": _at(
            PointCounts,
            "sensitivity",
            as_added,
            Corner("quantiles", "zero_concentrated", {"table": {**_NOT_BY_CELL, "q": ["1/2"]}}),
        ),
        "the smooth sensitivity is its floor": _at(
            Extreme, "smooth", lambda _: lambda self, values, base, neighbours: Fraction(1), Corner("maximum")
        ),
        "a person's rows count as one in residual components": _at(
            Residual, "profile", _one_row, _residual("zero_concentrated", delta=None)
        ),
        "a person's rows count as one in the levels of a tree": _at(Residual, "profile", _one_row, _TREE),
        "a replaced row stays in its node of the tree": _at(
            residual,
            "moves",
            lambda right: lambda depth, axes, **k: right(depth, axes, **(k | {"is_replace": False})),
            _TREE,
        ),
        "a row costs half in the tree of an axis": _at(
            _RANGED, "row_cost", lambda right: lambda factors, **k: right(factors, **k) // 2, _ranges()
        ),
        "a replaced row stays in its branch of the tree of an axis": _at(
            _RANGED, "swap_cost", lambda _: ranges.row_cost, _ranges("pure")
        ),
        "the tree of an axis is one level higher than it is priced for": _at(
            _RANGED, "row_cost", _without_the_top, _ranges()
        ),
        "a person's rows count as one in ranges": _at(
            factored_table.FactoredTable, "profile", _one_row, _ranges(strategy="ranges")
        ),
        "Laplace-log-normal noise is far too small": _at(
            LaplaceLogNormal,
            "scale",
            _got(lambda _, scale: scale / 8),
            _median("zero_concentrated", method="laplace_log_normal", rows=None),
        ),
        "a row stays in its private cell": _at(
            count_statistic,
            "reachable",
            lambda _: lambda query, neighbours: 1,
            Corner("count", "public_attributes", {"table": {"rows": ["two", "sex"]}}),
        ),
        "a row adds half of its bound to a list of totals": _at(
            Amounts, "largest", _got(lambda _, most: most // 2), _TOTALS_BY_RESIDUALS
        ),
        "a price by loss is that of a smaller move": _at(
            conversions,
            "gaussian_to_delta",
            lambda right: lambda mu, epsilon: right(0.7 * mu, epsilon),
            _residual("approximate", group=None),
        ),
        "a group of two is guaranteed what one unit is": _at(
            Neighbours, "grouped", lambda _: lambda self, size: self, _count(privacy={"group": 2})
        ),
        "a text is listed one unit too early": _at(
            label_selection.LabelSelection,
            "threshold",
            _got(lambda _, limit: max(limit - 1, 1)),
            Corner("labels", "approximate"),
        ),
        "a unit counts in more texts than it pays for": _at(
            label_selection,
            "_listing",
            lambda right: lambda moved: right(1),
            Corner("labels", "approximate", {"privacy": {"epsilon": "2.5"}}),
        ),
        "coefficients are booked at half their price": _at(fourier.Fourier, "profile", _half_price, _FOURIER),
        "a replaced row moves a coefficient by one": _at(
            (fourier, fourier_strategy),
            "coefficient_shift",
            lambda right: lambda margin, pattern: min(1, right(margin, pattern)),
            _FOURIER,
        ),
        "clipped totals forget that a row is replaced": _at(
            ClippedTotals, "profile", as_added, Corner("total", keys={"table": {"learn": "1/10", "rows": ["sex"]}})
        ),
        "most of learned bounds of clipped totals is not paid for": _at(
            GridSelection,
            "profile",
            _quarter_price,
            Corner("total", keys={"table": {"learn": "9/10", "rows": ["sex"]}}),
        ),
        "most of learned bounds of a mean is not paid for": _at(
            GridSelection,
            "profile",
            _quarter_price,
            Corner("mean", keys={"table": {**_BOUNDS_OF_MEAN, **_NOT_BY_CELL, "error": "noise"}}),
        ),
        "most levels of several quantiles are not paid for": _at(
            GridSelection,
            "profile",
            _quarter_price,
            Corner("quantiles", keys={"table": {**_NOT_BY_CELL, "q": ["1/4", "3/4"], "error": "noise"}}),
        ),
        "a key forgets which file it is of": _at(keyed_list, "keyed_noise", _keyed_alike, _KEYED),
        "a keyed list is booked at half its price": _at(keyed_list.KeyedList, "profile", _half_price, _KEYED),
        "a sample loses its share of epsilon": _at(
            SecretSample,
            "epsilon",
            lambda _: lambda self, inner: self.fraction * inner,
            _count(privacy={"mechanism": "discrete_laplace"}, sample="1/10"),
        ),
        "a person's rows are in one block": _at(
            block_totals, "touched", lambda _: lambda neighbours: 1, _MEAN_OF_BLOCKS
        ),
        "what a block says is not held to its range": _at(Blocks, "points", _beyond_the_range, _MEAN_OF_BLOCKS),
        "a changed block counts as one that is added": _at(
            GridSelection,
            "_sides",
            lambda _: lambda self, neighbours: Fraction(1),
            _blocks_of(blocks=2, aggregate="median", error=None),
        ),
        "a test is passed at half its threshold": _at(
            ProposeTestRelease, "threshold", _got(lambda _, t: t // 2), _TESTED
        ),
        "all bounds of a cascade have the threshold of the last": _at(
            Cascade, "thresholds", _got(lambda step, thresholds: thresholds[-1:] * len(step.bounds)), _SEVERAL_BOUNDS
        ),
        "data that a record can move are never closer than one step": _at(
            Quantile, "distance", lambda right: lambda *a, **k: max(right(*a, **k), 1), _TESTED
        ),
        "replicates are priced for half of what a row adds": _at(Resampled, "of_values", _half_reach, _REPLICATES),
        "sums beside replicates have a sixteenth of the noise that they are priced for": _at(
            ResampledTotals, "sum_noises", _little_noise, _REPLICATES
        ),
        "replicates are booked at half their price": _at(ResampledTotals, "profile", _half_price, _REPLICATES),
    }
)

AT_THE_DATA = _named(
    {
        "the floor for the sensitivity": _at(
            LocalLaplace, "sensitivity", lambda _: lambda self, values: 1, Corner("maximum", "individual")
        ),
        "rows that drop out are forgotten": _at(
            MagnitudeTable, "fallen", _got(lambda table, fallen: ()), Corner("total", "bootstrap")
        ),
        "a mean by the values at hand": _at(
            Mean,
            "local",
            lambda _: lambda self, x, neighbours: Fraction(int(max(x) - min(x)), len(x)),
            Corner("mean", "individual"),
        ),
    }
)


def _size_of(curator: Curator, planner: Planner) -> Planner:
    """The planner of a declared size that is counted in the file."""
    rows = sum(len(next(iter(chunk.values()))) for chunk in curator.source.scan(["sex"]))
    return replace(planner, domain=replace(planner.domain, public_size=max(rows, 1)))


def _planned_by(other: Callable[[Curator, Planner], Planner]) -> Wrong:
    """Plans of another planner, which knows more than documents."""

    def wrong(right: Wrong) -> Wrong:
        def plan(self: Curator, request: Any) -> Any:
            planner = self.planner
            self.planner = other(self, planner)
            try:
                return right(self, request)
            finally:
                self.planner = planner

        return plan

    return wrong


def _refused_where_empty(right: Wrong) -> Wrong:
    """A kind refusal where a file has no rows, before anything is charged."""

    def plan(self: Curator, request: Any) -> Any:
        if _size_of(self, self.planner).domain.public_size == 1:
            raise Unsupported("No number of this table could be told from its noise.")
        return right(self, request)

    return plan


def _with_history(right: Wrong) -> Wrong:
    """A piece of advice that counts what was released before."""

    def plan(self: Curator, request: Any) -> Any:
        planned = right(self, request)
        earlier = len(self.ledger.reader.releases())
        return replace(planned, advice=(*planned.advice, *(["Compare earlier releases."] if earlier > 1 else [])))

    return plan


PEEKING = tuple(
    planting.Fault(name, Curator, "plan", wrong)
    for name, wrong in {
        "the expected size of a cell is counted": _planned_by(_size_of),
        "an empty file is refused": _refused_where_empty,
        "a plan tells of earlier releases": _with_history,
    }.items()
)
"""Plans that look at more than documents."""

# A statement that is .49 of the true one: the sensitivity of a statistic, the largest change of a score, or the price
# of a step that has a norm of its own.
_understated = stated_as(Fraction(49, 100))
_SELECTED = {"definition": "pure", "epsilon": 1, "rho": None}
_BY_SEX = {
    name: _concentrated("best", _SELECTED, {"method": name, "rows": ["sex"]})
    for name in ("exponential", "permute_and_flip")
}
_LISTED = _concentrated("count", {"strategy": "residual"}, {**PLAIN_COUNT, **_SEX_AND_TWO})
_BY_TREE = _concentrated("count", {"strategy": "tree"}, {**PLAIN_COUNT, **_TREE_OF, "objective": "cells"})
UNDERSTATED = _named(
    {
        "Count": _at(Count, "sensitivity", _understated, _concentrated("proportion")),
        "MagnitudeTable": _at(MagnitudeTable, "sensitivity", _understated, _concentrated("total")),
        "RowSums": _at(RowSums, "sensitivity", _understated, _concentrated("variance")),
        "SquaredInfluence": _at(
            SquaredInfluence, "sensitivity", _understated, _concentrated("covariance", table={"error": None})
        ),
        "Persons": _at(Persons, "sensitivity", _understated, _concentrated("persons")),
        "ClippedTable": _at(ClippedTable, "sensitivity", _understated, _concentrated("clipped_total")),
        "ExponentialSelection": _at(cells, "steepness", _understated, _BY_SEX["exponential"]),
        "PermuteAndFlip": _at(cells, "steepness", _understated, _BY_SEX["permute_and_flip"]),
        "Residual": _at(Residual, "profile", _understated, _LISTED),
        "Residual of levels": _at(Residual, "profile", _understated, _BY_TREE),
    }
)
