"""Faults that were made on purpose: an attacker that does not find them is no attacker.

Each is one wrong line of the kind that has been written before: a person's rows counted as one, a replaced row counted
once, a dropped probability, a bound that is not applied.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt
from types import BuiltinFunctionType
from typing import Any
from unittest.mock import patch

import numpy as np

from dalenius.algebra import ranges
from dalenius.algebra.amounts import Amounts
from dalenius.algebra.ranges import Factor
from dalenius.core import conversions, registry
from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.profile import PrivacyProfile
from dalenius.engines.memory import MemorySource
from dalenius.exact.amplification import SecretSample
from dalenius.exact.smooth_noise import LaplaceLogNormal
from dalenius.measurements import (
    block_totals,
    exponential_quantile,
    factored_table,
    fourier,
    keyed_list,
    label_selection,
    tree_residual,
)
from dalenius.measurements.approximate_quantiles import ApproximateQuantiles
from dalenius.measurements.blocks import blocks
from dalenius.measurements.candidate_bounds import CandidateBounds
from dalenius.measurements.cascade import Cascade
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.label_selection import LabelSelection
from dalenius.measurements.learned_bounds import LearnedBounds
from dalenius.measurements.noisy_values import NoisyValues
from dalenius.measurements.propose_test_release import ProposeTestRelease
from dalenius.measurements.quantile_points import QuantilePoints
from dalenius.measurements.quantile_table import QuantileTable
from dalenius.measurements.resampled_totals import ResampledTotals
from dalenius.measurements.residual import Residual
from dalenius.measurements.tree_residual import TreeResidual
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.methods.margins.strategies import fourier as fourier_strategy
from dalenius.plans import ranged_count
from dalenius.plans.replicates import Resampled
from dalenius.statistics import count
from dalenius.statistics.binned_sums import BinnedSums
from dalenius.statistics.clipped_table import ClippedTable
from dalenius.statistics.count import Count
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.point_counts import PointCounts
from dalenius.statistics.quantile import Quantile
from dalenius.statistics.weighted_count import WeightedCount

Wrong = Callable[..., Any]


@dataclass(frozen=True)
class Fault:
    """One wrong line, where it stands (a tuple where other modules hold the same name), and the corner of the grammar
    in which it shows.
    """

    name: str
    where: Any
    attribute: str
    wrong: Callable[[Wrong], Any]
    method: str
    definition: str = "pure"
    keys: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Inside, the product has the fault."""
        places = self.where if isinstance(self.where, tuple) else (self.where,)
        wrong = self.wrong(getattr(places[0], self.attribute))
        with ExitStack() as planted:
            # What was worked out without the fault would hide it, and what is worked out with it must not stay.
            forget_results()
            planted.callback(forget_results)
            for place in places:
                planted.enter_context(patch.object(place, self.attribute, wrong))
            yield


def forget_results() -> None:
    """Empty every store of results that a function of the product keeps; which extensions there are stays known."""
    for name, module in list(sys.modules.items()):
        if name.startswith("dalenius.") and name != registry.__name__:
            for holder in (module, *(kind for kind in vars(module).values() if isinstance(kind, type))):
                for kept in list(vars(holder).values()):
                    if isinstance(clear := getattr(kept, "cache_clear", None), BuiltinFunctionType):
                        clear()


def _with_neighbours(**other: Any) -> Callable[[Wrong], Wrong]:
    """The right answer for other neighbours."""

    def plant(right: Wrong) -> Wrong:
        def wrong(self: Any, neighbours: Neighbours) -> Any:
            return right(self, replace(neighbours, **other))

        return wrong

    return plant


def _as_added(right: Wrong) -> Wrong:
    """A replaced unit priced as an added one."""

    def wrong(self: Any, neighbours: Neighbours) -> Any:
        price = right(self, replace(neighbours, relation=Relation.ADD_REMOVE))
        is_price = isinstance(price, PrivacyProfile)
        return replace(price, relation=neighbours.relation) if is_price else price

    return wrong


def _half_price(right: Wrong) -> Wrong:
    def wrong(self: Any, *arguments: Any) -> PrivacyProfile:
        profile: PrivacyProfile = right(self, *arguments)
        epsilon = None if profile.epsilon is None else profile.epsilon / 2
        rho = None if profile.rho is None else profile.rho / 2
        return replace(profile, sharpened=None, epsilon=epsilon, rho=rho)

    return wrong


def _without_zeros(right: Wrong) -> Wrong:
    def wrong(self: MemorySource, query: Any) -> Any:
        return right(self, replace(query, space=CellSpace(query.space.axes)))

    return wrong


def _one_less(right: Any) -> property:
    return property(lambda self: max(right.fget(self) - 1, 1))


def _halved(right: Any) -> property:
    return property(lambda self: right.fget(self) // 2)


def _last_for_all(right: Any) -> property:
    return property(lambda self: right.fget(self)[-1:] * len(self.bounds))


def _eighth(right: Any) -> property:
    return property(lambda self: right.fget(self) / 8)


def _keyed_alike(right: Wrong) -> Wrong:
    def wrong(law: Any, cells: Any, secret: bytes, description: Mapping[str, Any]) -> Any:
        return right(law, cells, secret, {**description, "fingerprint": ""})

    return wrong


def _beyond_the_range(right: Wrong) -> Wrong:
    """What blocks say, wherever it lies."""

    def wrong(self: blocks.Blocks, thetas: Sequence[float]) -> Any:
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


# The planner's own noise: some of what may be named takes long to plan, and the fault is elsewhere.
PLAIN_COUNT: Mapping[str, object] = {
    "weight": None,
    "margins": None,
    "universe": None,
    "objective": None,
    "keyed": None,
    "sample": None,
    "ranges": None,
    "refine": None,
    "refine_from": None,
    "refine_share": None,
}
_PLAIN: Mapping[str, Mapping[str, object]] = {
    "privacy": {"mechanism": None, "noise": None, "strategy": None},
    "table": PLAIN_COUNT,
}
_NO_SHAPE: Mapping[str, object] = {"beta": None, "shape": None, "growth": None, "score": None, "error": None}
_SUMS: Mapping[str, Mapping[str, object]] = {
    "table": {"error": None, "replicates": None, "weight": None, "margins": None, "universe": None, "objective": None},
    "privacy": {"strategy": None},
}
_ALL_MARGINS: Mapping[str, object] = {"margins": "all", "universe": "complete", "weight": None}
_COUNTED_MARGINS: Mapping[str, object] = {**PLAIN_COUNT, **_ALL_MARGINS}
_RANGES: Mapping[str, Mapping[str, object]] = {
    "privacy": {"mechanism": None, "noise": None, "strategy": "hierarchical", "delta": None},
    "table": {**PLAIN_COUNT, "rows": ["region"], "ranges": {"region": "all"}},
}
_KEYED: Mapping[str, Mapping[str, object]] = {
    "table": {**PLAIN_COUNT, "keyed": True},
    "privacy": {"mechanism": "discrete_laplace", "noise": None, "strategy": None},
}
_SAMPLED: Mapping[str, Mapping[str, object]] = {
    "table": {**PLAIN_COUNT, "sample": "1/10"},
    "privacy": {"mechanism": "discrete_laplace", "noise": None, "strategy": None},
}
_BLOCKS: Mapping[str, Mapping[str, object]] = {
    "table": {
        "model": "gaussian_mean",
        "range": [0, 1],
        "blocks": 3,
        "aggregate": "mean",
        "correction": "none",
        "error": "noise",
        "where": None,
    },
    "privacy": {"epsilon": "2.5"},
}
_MEDIAN_OF_BLOCKS: Mapping[str, Mapping[str, object]] = {
    **_BLOCKS,
    "table": {**_BLOCKS["table"], "aggregate": "median", "error": None, "blocks": 2},
}
_SEVERAL_BOUNDS: Mapping[str, Mapping[str, object]] = {
    "table": {"bounds": [1, 2], "bound": None, "estimate": None, "q": None, "where": None},
    "privacy": {"epsilon": "2.5", "delta": "0.01"},
}
_REPLICATES: Mapping[str, Mapping[str, object]] = {
    "table": {"error": "bootstrap", "replicates": 2, "learn_bounds": None, "rows": None, "where": None},
    "privacy": {"mechanism": None, "epsilon": "1", "delta": "1e-6"},
}
_LEARNED: Mapping[str, Mapping[str, object]] = {"table": {"learn_bounds": "9/10", "rows": ["sex"]}}
_LEARNED_OF_MEAN: Mapping[str, Mapping[str, object]] = {
    "table": {
        "learn_bounds": "9/10",
        "candidates": [0, 1, 3],
        "tail": "1/4",
        "error": "noise",
        "rows": None,
        "where": None,
    }
}
_FOURIER: Mapping[str, Mapping[str, object]] = {
    "privacy": {"strategy": "fourier", "mechanism": None, "noise": None},
    "table": {**_COUNTED_MARGINS, "rows": ["sex", "two"]},
}
_TREE: Mapping[str, Mapping[str, object]] = {
    "privacy": {"strategy": "tree", "mechanism": None, "noise": None, "delta": None},
    "table": {
        **_COUNTED_MARGINS,
        "rows": ["region", "sex"],
        "margins": [["region", "sex"], ["region.half"]],
        "objective": "cells",
    },
}

FAULTS: tuple[Fault, ...] = (
    Fault(
        "a person's rows count as one in a table",
        Count,
        "sensitivity",
        _with_neighbours(max_rows=1),
        "count",
        keys=_PLAIN,
    ),
    Fault(
        "a replaced row leaves and enters nothing",
        Count,
        "sensitivity",
        _as_added,
        "count",
        keys={**_PLAIN, "table": {**PLAIN_COUNT, "rows": ["sex"]}},
    ),
    Fault("a replaced value counts once", MagnitudeTable, "sensitivity", _as_added, "total", keys=_SUMS),
    Fault(
        "a person's values count as one",
        MagnitudeTable,
        "sensitivity",
        _with_neighbours(max_rows=1),
        "total",
        keys=_SUMS,
    ),
    Fault(
        "weights are priced by their square roots",
        WeightedCount,
        "sensitivity",
        lambda right: lambda self, neighbours: right(replace(self, largest=isqrt(self.largest)), neighbours),
        "count",
        keys={**_PLAIN, "table": {**PLAIN_COUNT, "weight": "weight"}},
    ),
    Fault(
        "the error of the design is priced by half of its squares",
        BinnedSums,
        "sensitivity",
        lambda right: lambda self, neighbours: right(self, neighbours).times(Fraction(1, 2)),
        "mean",
        keys={"table": {"weight": "weight"}},
    ),
    Fault(
        "a person adds half of the bound to all cells together",
        ClippedTable,
        "sensitivity",
        lambda right: lambda self, neighbours: right(self, neighbours).times(Fraction(1, 2)),
        "clipped_count",
    ),
    Fault(
        "no row of a person is left out",
        MemorySource,
        "_keep",
        lambda right: lambda self, rows, secret: rows,
        "count",
        keys=_PLAIN,
    ),
    Fault(
        "a declared impossible cell shows its rows",
        MemorySource,
        "table",
        _without_zeros,
        "count",
        keys={**_PLAIN, "table": {**PLAIN_COUNT, "rows": ["sex", "region"]}},
    ),
    Fault(
        "noise is booked at half its price",
        DiscreteLaplace,
        "profile",
        _half_price,
        "count",
        keys={**_PLAIN, "privacy": {**_PLAIN["privacy"], "mechanism": "discrete_laplace"}},
    ),
    Fault(
        "normal noise is booked at half its price",
        DiscreteGaussian,
        "profile",
        _half_price,
        "count",
        "zero_concentrated",
        keys={**_PLAIN, "privacy": {**_PLAIN["privacy"], "mechanism": "discrete_gaussian"}},
    ),
    Fault("one number of a list is booked at half its price", NoisyValues, "profile", _half_price, "dominance"),
    Fault(
        "a quantile's score moves by half",
        exponential_quantile,
        "score_change",
        lambda right: lambda *a, **k: right(*a, **k) / 2,
        "median",
        keys={"table": {"method": "exponential", "rows": None, **_NO_SHAPE, "score": "distance"}},
    ),
    Fault(
        "by depth a quantile's score moves by half",
        exponential_quantile,
        "score_change",
        lambda right: lambda *a, **k: right(*a, **k) / 2,
        "median",
        keys={"table": {"method": "exponential", "rows": None, **_NO_SHAPE}},
    ),
    Fault(
        "a person's rows move one quantile as one",
        QuantileTable,
        "_change",
        lambda _: property(lambda s: Fraction(1)),
        "median",
        keys={"table": {"method": "exponential", "rows": ["sex"], **_NO_SHAPE}},
    ),
    Fault(
        "points beside a quantile forget that a row is replaced",
        QuantilePoints,
        "profile",
        _as_added,
        "median",
        keys={"table": {"method": None, "rows": None, "where": None, **_NO_SHAPE}},
    ),
    Fault(
        "counts between points forget that a row is replaced",
        PointCounts,
        "sensitivity",
        _as_added,
        "quantiles",
        "zero_concentrated",
        keys={"table": {"rows": None, "where": None, "q": ["1/2"], "parts": None}},
    ),
    Fault(
        "the smooth sensitivity is its floor",
        Extreme,
        "smooth",
        lambda right: lambda self, values, base, neighbours, least=1: Fraction(least),
        "maximum",
    ),
    Fault(
        "a person's rows count as one in residual components",
        Residual,
        "profile",
        _with_neighbours(max_rows=1),
        "count",
        "zero_concentrated",
        keys={
            "privacy": {"strategy": "residual", "mechanism": None, "noise": None, "delta": None},
            "table": {**_COUNTED_MARGINS, "rows": ["sex", "two"]},
        },
    ),
    Fault(
        "a person's rows count as one in the levels of a tree",
        TreeResidual,
        "profile",
        _with_neighbours(max_rows=1),
        "count",
        "zero_concentrated",
        keys=_TREE,
    ),
    Fault(
        "a replaced row stays in its node of the tree",
        tree_residual,
        "moves",
        lambda right: lambda depth, axes, **k: right(depth, axes, **(k | {"is_replace": False})),
        "count",
        "zero_concentrated",
        keys=_TREE,
    ),
    Fault(
        "a row costs half in the tree of an axis",
        (factored_table, ranged_count),
        "row_cost",
        lambda right: lambda factors, **k: right(factors, **k) // 2,
        "count",
        "zero_concentrated",
        keys=_RANGES,
    ),
    Fault(
        "a replaced row stays in its branch of the tree of an axis",
        (factored_table, ranged_count),
        "swap_cost",
        lambda right: ranges.row_cost,
        "count",
        keys=_RANGES,
    ),
    Fault(
        "the tree of an axis is one level higher than it is priced for",
        (factored_table, ranged_count),
        "row_cost",
        _without_the_top,
        "count",
        "zero_concentrated",
        keys=_RANGES,
    ),
    Fault(
        "a person's rows count as one in ranges",
        factored_table.FactoredTable,
        "profile",
        _with_neighbours(max_rows=1),
        "count",
        "zero_concentrated",
        keys={**_RANGES, "privacy": {**_RANGES["privacy"], "strategy": "ranges"}},
    ),
    Fault(
        "Laplace-log-normal noise is far too small",
        LaplaceLogNormal,
        "scale",
        _eighth,
        "median",
        "zero_concentrated",
        keys={"table": {"method": "laplace_log_normal", **_NO_SHAPE, "rows": None}},
    ),
    Fault(
        "a row stays in its private cell",
        count,
        "reachable",
        lambda right: lambda query, neighbours: 1,
        "count",
        "public_attributes",
        keys={"table": {"rows": ["two", "sex"]}},
    ),
    Fault(
        "a row adds half of its bound to a list of totals",
        Amounts,
        "largest",
        _halved,
        "total",
        "zero_concentrated",
        keys={
            "privacy": {"strategy": "residual", "mechanism": None, "delta": None},
            "table": {**_SUMS["table"], **_ALL_MARGINS, "rows": ["sex", "two"], "learn_bounds": None},
        },
    ),
    Fault(
        "a price by loss is that of a smaller move",
        conversions,
        "gaussian_to_delta",
        lambda right: lambda mu, epsilon: right(0.7 * mu, epsilon),
        "count",
        "approximate",
        keys={
            "privacy": {"strategy": "residual", "mechanism": None, "noise": None, "group": None},
            "table": {**_COUNTED_MARGINS, "rows": ["sex", "two"]},
        },
    ),
    Fault(
        "a group of two is guaranteed what one unit is",
        Neighbours,
        "grouped",
        lambda right: lambda self, size: self,
        "count",
        keys={**_PLAIN, "privacy": {**_PLAIN["privacy"], "group": 2}},
    ),
    Fault("a text is listed one unit too early", LabelSelection, "threshold", _one_less, "labels", "approximate"),
    Fault(
        "a unit counts in more texts than it pays for",
        label_selection,
        "_listing",
        lambda right: lambda moved: right(1),
        "labels",
        "approximate",
        keys={"privacy": {"epsilon": "2.5"}},
    ),
    Fault(
        "coefficients are booked at half their price", fourier.Fourier, "profile", _half_price, "count", keys=_FOURIER
    ),
    Fault(
        "a replaced row moves a coefficient by one",
        (fourier, fourier_strategy),
        "coefficient_shift",
        lambda right: lambda margin, pattern: min(1, right(margin, pattern)),
        "count",
        keys=_FOURIER,
    ),
    Fault(
        "clipped totals forget that a row is replaced",
        ClippedTotals,
        "profile",
        _as_added,
        "total",
        keys={"table": {"learn_bounds": "1/10", "rows": ["sex"]}},
    ),
    Fault(
        "most of learned bounds of clipped totals is not paid for",
        LearnedBounds,
        "profile",
        lambda right: _half_price(_half_price(right)),
        "total",
        keys=_LEARNED,
    ),
    Fault(
        "most of learned bounds of a mean is not paid for",
        CandidateBounds,
        "profile",
        lambda right: _half_price(_half_price(right)),
        "mean",
        keys=_LEARNED_OF_MEAN,
    ),
    Fault(
        "most levels of several quantiles are not paid for",
        QuantilePoints,
        "profile",
        lambda right: _half_price(_half_price(right)),
        "quantiles",
        keys={"table": {"rows": None, "where": None, "q": ["1/4", "3/4"], "parts": None, "error": "noise"}},
    ),
    Fault("a key forgets which file it is of", keyed_list, "keyed_noise", _keyed_alike, "count", keys=_KEYED),
    Fault(
        "a keyed list is booked at half its price", keyed_list.KeyedList, "profile", _half_price, "count", keys=_KEYED
    ),
    Fault(
        "a sample loses its share of epsilon",
        SecretSample,
        "epsilon",
        lambda right: lambda self, inner: self.fraction * inner,
        "count",
        keys=_SAMPLED,
    ),
    Fault(
        "a person's rows are in one block",
        block_totals,
        "touched",
        lambda right: lambda neighbours: 1,
        "sample_and_aggregate",
        keys=_BLOCKS,
    ),
    Fault(
        "what a block says is not held to its range",
        blocks.Blocks,
        "points",
        _beyond_the_range,
        "sample_and_aggregate",
        keys=_BLOCKS,
    ),
    Fault(
        "a changed block counts as one that is added",
        ApproximateQuantiles,
        "_sides",
        lambda right: lambda self, neighbours: 1,
        "sample_and_aggregate",
        keys=_MEDIAN_OF_BLOCKS,
    ),
    Fault(
        "a test is passed at half its threshold",
        ProposeTestRelease,
        "threshold",
        _halved,
        "propose_test_release",
        "approximate",
    ),
    Fault(
        "all bounds of a cascade have the threshold of the last",
        Cascade,
        "thresholds",
        _last_for_all,
        "propose_test_release",
        "approximate",
        keys=_SEVERAL_BOUNDS,
    ),
    Fault(
        "data that a record can move are never closer than one step",
        Quantile,
        "distance",
        lambda right: lambda *a, **k: max(right(*a, **k), 1),
        "propose_test_release",
        "approximate",
    ),
    Fault(
        "replicates are priced for half of what a row adds",
        Resampled,
        "of_values",
        _half_reach,
        "total",
        "approximate",
        keys=_REPLICATES,
    ),
    Fault(
        "sums beside replicates have a sixteenth of the noise that they are priced for",
        ResampledTotals,
        "sum_noises",
        lambda _: property(lambda step: tuple(DiscreteGaussian(v / 256) for v in step.price.variances)),
        "total",
        "approximate",
        keys=_REPLICATES,
    ),
    Fault(
        "replicates are booked at half their price",
        ResampledTotals,
        "profile",
        _half_price,
        "total",
        "approximate",
        keys=_REPLICATES,
    ),
)
