"""The joint law of a release that combines several measured blocks: estimates, exact covariances, simulation.

Everything is rebuilt from what a release carries: its blocks and the public parameters of its law. Four structures:

margins   residual components with uncorrelated noise (`dalenius.algebra.margins`); any mixture of measured margins,
          residual measurements and Fourier coefficients
nested    margins along hierarchies, by dense least squares (`dalenius.algebra.nested`), or sums of one measured table
tree      margins along a tree of any size, level by level (`dalenius.algebra.tree_law`) ranges    one table that was
measured for sums over ranges of its axes (`dalenius.algebra.range_law`)
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import expm1, log, sqrt
from statistics import NormalDist
from typing import Any, cast

import numpy as np

from dalenius.algebra.margins import Margin, Workload, centre, least_squares, reconstruct, sum_out
from dalenius.algebra.nested import DenseLeastSquares, Measured, View, aggregate
from dalenius.algebra.range_law import STRUCTURE as RANGES
from dalenius.algebra.range_law import RangeLaw
from dalenius.algebra.tree_law import STRUCTURE as TREE
from dalenius.algebra.tree_law import TreeLaw, in_units, simulated_parts
from dalenius.core import registry
from dalenius.core.law import Additive, FloatArray, IntArray, IntegerLaw, Joint, Law
from dalenius.core.release import Block, Release, Table
from dalenius.errors import NotPublic, UnknownName, Unsupported

KNOWN = 1e-12
"""Variance that stands for a number without noise (a public total)."""
STRUCTURES = ("margins", "nested", TREE, RANGES)


def is_combined(law: Law) -> bool:
    """Whether what is shown is least squares of several measurements, linear and unbiased."""
    return isinstance(law, Joint) and law.structure in STRUCTURES


def estimates(blocks: Sequence[Block], law: Joint) -> list[FloatArray]:
    """Shown tables, flat, in the order of the law's `shown`."""
    arrays = [block.values for block in blocks]
    return _estimates(arrays, [block.law for block in blocks], law)


def linear_map(release: Release, table: Table | str) -> Callable[[Sequence[IntArray]], FloatArray]:
    """The map from arrays shaped like the measured blocks to the cells of one shown table, flat."""
    law, position = _joint(release), _position(release, table)
    laws = [block.law for block in release.blocks]
    return lambda arrays: _estimates(list(arrays), laws, law)[position]


def covariance(release: Release, table: Table | str, cells: Sequence[int]) -> FloatArray:
    """Exact covariance matrix of some shown cells (flat positions) of one table, from the noise alone.

    A structural zero is not perturbed: its variance is zero.
    """
    if isinstance(release.law, Additive):
        impossible = release.tables[_position(release, table)].space.structural_indices
        noisy = ~np.isin(np.asarray(cells, dtype=np.int64), impossible)
        return np.diag(noisy * release.law.variance)
    law, position = _joint(release), _position(release, table)
    if law.structure == "margins":
        workload, components = _margins(law)
        return workload.covariance_matrix(components, workload.margins[position], cells)
    if law.structure == TREE:
        return TreeLaw.of(law).covariance(position, cells, position, cells)
    if law.structure == RANGES:
        return RangeLaw.of(law).covariance(cells, cells)
    return _nested_covariance(law, position)[np.ix_(list(cells), list(cells))]


def cross_covariance(release: Release, first: Table | str, cell: int, second: Table | str, other: int) -> float:
    """Covariance of one cell of a table and one cell of another."""
    law = _joint(release)
    if law.structure == TREE:
        one, two = _position(release, first), _position(release, second)
        return float(TreeLaw.of(law).covariance(one, [cell], two, [other])[0, 0])
    if law.structure == RANGES:
        return float(RangeLaw.of(law).covariance([cell], [other])[0, 0])
    if law.structure != "margins":
        return _nested_cross_covariance(law, (_position(release, first), cell), (_position(release, second), other))
    workload, components = _margins(law)
    a, b = (workload.margins[_position(release, t)] for t in (first, second))
    at = [int(i) for i in np.unravel_index(cell, tuple(workload.shape[k] for k in a))] if a else []
    to = [int(i) for i in np.unravel_index(other, tuple(workload.shape[k] for k in b))] if b else []
    return workload.covariance(components, a, at, b, to)


def simulate(
    release: Release, exact: IntArray, generator: "np.random.Generator", size: int = 1
) -> list[list[IntArray]]:
    """Blocks as they would be measured if the interior table were `exact`; for analysis, not for release."""
    law = _joint(release)
    interior = np.asarray(exact, dtype=np.int64).reshape(tuple(law.parameters["shape"]))
    specs = law.parameters["blocks"]
    return [
        [_simulated(b, spec, law, interior, generator) for b, spec in zip(release.blocks, specs, strict=True)]
        for _ in range(size)
    ]


def _simulated(
    block: Block, spec: Mapping[str, Any], law: Joint, interior: IntArray, generator: "np.random.Generator"
) -> IntArray:
    names, own = list(law.parameters["axes"]), block.law
    if law.structure == TREE:
        return _simulated_tree(own, spec, TreeLaw.of(law), interior, generator)
    if law.structure == RANGES and isinstance(own, Joint):
        counts = RangeLaw.of(law).measured(interior).ravel()
        return counts + _wide(own.parameters, len(counts), generator)
    whole = tuple(range(len(names)))
    if isinstance(own, Additive):
        margin = tuple(names.index(axis.name) for axis in block.space.axes)
        counts = sum_out(interior, whole, margin).ravel()
        noise = _noise(own.noise, len(counts), generator)
        noise[list(block.space.structural_indices)] = 0
        return counts + noise
    if not isinstance(own, Joint):
        raise Unsupported("Only additive and joint blocks can be simulated.")
    parts = []
    for part in own.parameters["components"]:
        a = tuple(part["axes"])
        counts = sum_out(interior, whole, a)
        if own.structure == "residual":
            deviation = float(Fraction(part["noise_variance"])) ** 0.5
            noise = np.rint(generator.normal(0, deviation, counts.shape)).astype(np.int64)
            scaled = counts * np.int64(part["cells"]) + noise
            for axis in range(scaled.ndim):
                scaled = scaled - np.take(scaled, [0], axis=axis)
            parts.append(scaled.ravel())
        else:
            for _ in a:
                counts = counts[0] - counts[1]
            parts.append(np.ravel(counts) + _noise(_law(part), 1, generator))
    return np.concatenate(parts)


def _simulated_tree(
    own: Law, spec: Mapping[str, Any], law: TreeLaw, interior: IntArray, generator: "np.random.Generator"
) -> IntArray:
    if isinstance(own, Additive):
        counts = law.counts(interior, int(spec["level"]), tuple(spec["axes"])).ravel()
        return counts + _noise(own.noise, len(counts), generator)
    if not isinstance(own, Joint):
        raise Unsupported("Only additive and joint blocks can be simulated.")
    return simulated_parts(
        law,
        own.parameters,
        interior,
        lambda deviation, shape: np.rint(generator.normal(0, deviation, shape)).astype(np.int64),
    )


def _law(part: Mapping[str, Any]) -> IntegerLaw:
    made: IntegerLaw = registry.get("mechanisms", part["family"])(
        **{k: Fraction(v) for k, v in part["parameters"].items()}
    )
    return made


@lru_cache(maxsize=256)
def _central(law: Any) -> tuple[IntArray, FloatArray]:
    points, mass = Additive(law).central()
    return points, np.cumsum(mass / mass.sum())


def _noise(law: IntegerLaw, size: int, generator: "np.random.Generator") -> IntArray:
    points, cumulative = _central(cast(Any, law))
    index = np.searchsorted(cumulative, generator.random(size), side="right")
    return points[np.minimum(index, len(points) - 1)]


def _wide(own: Mapping[str, Any], size: int, generator: "np.random.Generator") -> IntArray:
    """Noise whose law has too many points for a table: rounded normal draws, or differences of geometric ones."""
    noise = _law(own)
    if "gaussian" in noise.name:
        return np.rint(generator.normal(0, sqrt(noise.variance), size)).astype(np.int64)
    success = -expm1(-float(Fraction(own["parameters"]["rate"])))
    return generator.geometric(success, size) - generator.geometric(success, size)


def _joint(release: Release) -> Joint:
    if not isinstance(release.law, Joint) or not is_combined(release.law):
        raise NotPublic("This release does not combine several measurements; use its tables and blocks directly.")
    return release.law


def _position(release: Release, table: Table | str) -> int:
    name = table if isinstance(table, str) else table.name
    names = [t.name for t in release.tables]
    if name not in names:
        raise UnknownName.among("table", name, names)
    return names.index(name)


def _margins(law: Joint) -> tuple[Workload, dict[Margin, float]]:
    parameters = law.parameters
    shown = tuple(tuple(m) for m in parameters["shown"])
    components = {tuple(a): float(v) for a, v in parameters["components"]}
    return Workload(tuple(parameters["shape"]), shown), components


def _estimates(arrays: Sequence[IntArray], laws: Sequence[Law], law: Joint) -> list[FloatArray]:
    if law.structure == "nested":
        return _nested_estimates(arrays, law)
    if law.structure == TREE:
        return TreeLaw.of(law).estimates(arrays, laws, law.parameters["blocks"])
    if law.structure == RANGES:
        return [RangeLaw.of(law).estimate(arrays[0])]
    workload, _ = _margins(law)
    parts: dict[Margin, FloatArray] = {}
    measured: dict[Margin, FloatArray] = {}
    variances: dict[Margin, float] = {}
    total = law.parameters.get("total")
    for array, own, spec in zip(arrays, laws, law.parameters["blocks"], strict=True):
        if isinstance(own, Joint):
            decode = residual_components if own.structure == "residual" else fourier_components
            parts.update(decode(array, own.parameters))
        else:
            margin = tuple(spec["axes"])
            shape = tuple(workload.shape[a] for a in margin)
            measured[margin] = in_units(array, own).reshape(shape)
            variances[margin] = float(spec["variance"])
    if parts:
        if total is not None:
            parts[()] = np.array(float(total))
        return [reconstruct(workload, parts, margin).ravel() for margin in workload.margins]
    if total is not None:
        measured[()], variances[()] = np.array(float(total)), KNOWN
    components = least_squares(workload, measured, variances)
    return [components[margin].ravel() for margin in workload.margins]


def residual_components(values: IntArray, parameters: Mapping[str, Any]) -> dict[Margin, FloatArray]:
    """Centred components in units of what is shown, from a residual block and its law's parameters."""
    shape, start = parameters["shape"], 0
    step = float(Fraction(parameters.get("step", 1)))
    components: dict[Margin, FloatArray] = {}
    for part in parameters["components"]:
        a, cells = tuple(part["axes"]), int(part["cells"])
        array = values[start : start + cells].reshape(tuple(shape[i] for i in a))
        components[a] = centre(array.astype(np.float64)) * step / cells
        start += cells
    return components


def fourier_components(values: IntArray, parameters: Mapping[str, Any]) -> dict[Margin, FloatArray]:
    """Centred components in units of the counts: a coefficient with alternating signs, over 2^|A|."""
    components: dict[Margin, FloatArray] = {}
    for value, part in zip(values.tolist(), parameters["components"], strict=True):
        a = tuple(part["axes"])
        array = np.array(float(value)) / 2 ** len(a)
        for _ in a:
            array = np.stack([array, -array])
        components[a] = array
    return components


def _view(raw: Sequence[Sequence[int] | None]) -> View:
    return tuple(None if groups is None else tuple(groups) for groups in raw)


def _nested_estimates(arrays: Sequence[IntArray], law: Joint) -> list[FloatArray]:
    specs = law.parameters["blocks"]
    shown = [_view(v) for v in law.parameters["shown"]]
    if len(specs) == 1:
        shape = tuple(law.parameters["shape"])
        return [aggregate(arrays[0].astype(np.float64).reshape(shape), v).ravel() for v in shown]
    solver = _solver(law)
    return [solver.estimate([a.astype(np.float64) for a in arrays], v) for v in shown]


def _solver(law: Joint) -> DenseLeastSquares:
    key = tuple((_view(s["view"]), float(s["variance"])) for s in law.parameters["blocks"])
    return _cached_solver(tuple(law.parameters["shape"]), key)


@lru_cache(maxsize=8)
def _cached_solver(shape: tuple[int, ...], measured: tuple[tuple[View, float], ...]) -> DenseLeastSquares:
    return DenseLeastSquares(shape, [Measured(view, variance) for view, variance in measured])


def _nested_covariance(law: Joint, position: int) -> FloatArray:
    if len(law.parameters["blocks"]) > 1:
        return _solver(law).covariance(_view(law.parameters["shown"][position]))
    return np.diag(nested_variance(law, position))


def _nested_cross_covariance(law: Joint, first: tuple[int, int], second: tuple[int, int]) -> float:
    """From one measured table: the noise of the finest cells that both shown cells are sums of."""
    specs, shape = law.parameters["blocks"], tuple(law.parameters["shape"])
    if len(specs) > 1:
        raise Unsupported(
            "Covariances across tables are not served where several tables along hierarchies were measured; ask "
            "within one table."
        )
    common = np.ones(shape, dtype=bool)
    common.ravel()[list(law.parameters.get("structural_zeros", ()))] = False
    for position, cell in (first, second):
        view = _view(law.parameters["shown"][position])
        sizes = [max(groups) + 1 for groups in view if groups is not None]
        places = iter(np.unravel_index(cell, sizes) if sizes else ())
        for axis, groups in enumerate(view):
            if groups is not None:
                inside = np.asarray(groups) == int(next(places))
                common &= inside.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return float(specs[0]["variance"]) * int(common.sum())


def variances(law: Joint) -> list[FloatArray]:
    """Variance of every cell of every table that a law along a hierarchy shows, flat."""
    if law.structure == TREE:
        return TreeLaw.of(law).variances
    if law.structure == RANGES:
        return [RangeLaw.of(law).variances]
    return [nested_variance(law, k) for k in range(len(law.parameters["shown"]))]


def largest_variances(law: Joint) -> list[float]:
    """The largest variance of a cell of each shown table, from the law alone."""
    if law.structure == "margins":
        workload, components = _margins(law)
        return [workload.variance(components, margin) for margin in workload.margins]
    if law.structure == TREE:
        return [float(v.max()) for v in TreeLaw.of(law).variances]
    if law.structure == RANGES:
        return [float(RangeLaw.of(law).variances.max())]
    return [float(nested_variance(law, k).max()) for k in range(len(law.parameters["shown"]))]


def reach(laws: Sequence[Law], confidence: float) -> float:
    """Standard errors that hold the noise of a cell which combines several measurements.

    Sums of Gaussian draws are taken as normal. Sums of Laplace draws are nearer to the normal law than one draw is, so
    that from a confidence of nine tenths on the reach of one draw is enough for any of them.
    """
    is_gaussian = all("gaussian" in _family(law) for law in laws)
    normal = NormalDist().inv_cdf(0.5 + confidence / 2)
    return normal if is_gaussian else max(normal, log(1 / (1 - confidence)) / sqrt(2))


def _family(law: Law) -> str:
    """The noise of a block; residual components and Fourier coefficients are taken as normal."""
    if isinstance(law, Additive):
        return law.noise.name
    has_family = isinstance(law, Joint) and law.structure in ("factored", "independent")
    return str(law.parameters["family"]) if isinstance(law, Joint) and has_family else "gaussian"


def nested_variance(law: Joint, position: int) -> FloatArray:
    """Variance of each cell of a shown view, flat."""
    view = _view(law.parameters["shown"][position])
    specs = law.parameters["blocks"]
    if len(specs) > 1:
        return np.diag(_solver(law).covariance(view)).copy()
    noisy = np.full(tuple(law.parameters["shape"]), float(specs[0]["variance"]))
    noisy.ravel()[list(law.parameters.get("structural_zeros", ()))] = 0.0
    return aggregate(noisy, view).ravel()
