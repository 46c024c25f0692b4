"""The joint law of a release that combines several measured blocks: estimates, exact covariances, simulation.

Everything is rebuilt from what a release carries: its blocks and the public parameters of its law. Four structures:

margins   residual components with uncorrelated noise (`dalenius.algebra.margins`); any mixture of measured margins,
          residual measurements and Fourier coefficients
nested    sums of one measured table (`dalenius.algebra.nested`)
tree      margins along a tree of any size, level by level (`dalenius.algebra.tree_law`)
ranges    one table that was measured for sums over ranges of its axes (`dalenius.algebra.range_law`)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import expm1, log, prod, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, cast

import numpy as np

from dalenius.algebra.margins import Margin, Workload, least_squares, reconstruct, subsets, sum_out
from dalenius.algebra.nested import NestedLaw
from dalenius.algebra.range_law import STRUCTURE as RANGES
from dalenius.algebra.range_law import RangeLaw
from dalenius.algebra.tree_law import STRUCTURE as TREE
from dalenius.algebra.tree_law import TreeLaw, in_units, residual_parts
from dalenius.core import registry
from dalenius.core.law import Additive, FloatArray, IntArray, IntegerLaw, Joint, Law
from dalenius.core.release import Block, Release, Table
from dalenius.errors import NotPublic, UnknownName, Unsupported

KNOWN = 1e-12
"""Variance that stands for a number without noise (a public total)."""


@dataclass(frozen=True, eq=False)
class MarginsLaw:
    """Margins by least squares in residual components."""

    workload: Workload
    components: Mapping[Margin, float]
    total: int | None
    structure: ClassVar[str] = "margins"

    @classmethod
    def of(cls, law: Joint) -> "MarginsLaw":
        parameters = law.parameters
        workload = Workload(tuple(parameters["shape"]), tuple(tuple(m) for m in parameters["shown"]))
        return cls(workload, {tuple(a): float(v) for a, v in parameters["components"]}, parameters.get("total"))

    def to_parameters(self) -> dict[str, Any]:
        shown = [list(m) for m in self.workload.margins]
        components = [[list(a), v] for a, v in self.components.items()]
        return {"shown": shown, "components": components, "total": self.total}

    @property
    def variances(self) -> list[FloatArray]:
        work = self.workload
        return [np.broadcast_to(work.variance(self.components, m), work.size(m)) for m in work.margins]

    def estimates(
        self, arrays: Sequence[IntArray], laws: Sequence[Law], blocks: Sequence[Mapping[str, Any]]
    ) -> list[FloatArray]:
        workload, total = self.workload, self.total
        parts: dict[Margin, FloatArray] = {}
        measured: dict[Margin, FloatArray] = {}
        variances: dict[Margin, float] = {}
        for array, own, spec in zip(arrays, laws, blocks, strict=True):
            if isinstance(own, Joint):
                if own.structure == "fourier":
                    parts |= fourier_components(array, own.parameters)
                else:
                    parts |= {a: part[0] for (_, a), part in residual_parts(array, own.parameters).items()}
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
        answers = least_squares(workload, measured, variances)
        return [answers[margin].ravel() for margin in workload.margins]

    def covariance(self, first: int, cells: Sequence[int], second: int, others: Sequence[int]) -> FloatArray:
        margins = self.workload.margins
        return self.workload.covariance(self.components, margins[first], cells, margins[second], others)

    def grouped_variance(self, position: int, groups: Sequence[Sequence[int]]) -> FloatArray:
        """Variance of sums of a shown table, by the group of each label of every shown axis (-1: left out).

        For a product of label sets the covariance of a residual component is a product over axes.
        """
        margin = self.workload.margins[position]
        many = [np.bincount([g for g in own if g >= 0]).astype(np.float64) for own in groups]
        total = np.zeros([len(m) for m in many])
        for a in subsets(margin):
            if a in self.components:
                part: FloatArray = np.array(self.components[a])
                for i, m in zip(margin, many, strict=True):
                    n = self.workload.shape[i]
                    part = np.multiply.outer(part, m - m * m / n if i in a else (m / n) ** 2)
                total += part
        return total.ravel()

    def counts(self, interior: IntArray, spec: Mapping[str, Any]) -> IntArray:
        return sum_out(interior, tuple(range(interior.ndim)), tuple(spec["axes"]))


CombinedLaw = MarginsLaw | NestedLaw | TreeLaw | RangeLaw
"""What is shown as a linear map of measured blocks; tables are counted in the order of the law's `shown`.

`variances` are those of every cell of every shown table, flat; `estimates` the shown tables, flat, from measured
arrays, their laws and what the joint law says of them; `covariance` that of each of some cells (flat positions) of a
table with each of some of another; `counts` what a block, or a component, is measured of in the full cross.
"""
_READ: Mapping[str, Callable[[Joint], CombinedLaw]] = {
    MarginsLaw.structure: MarginsLaw.of,
    NestedLaw.structure: NestedLaw.of,
    TREE: TreeLaw.of,
    RANGES: RangeLaw.of,
}


def is_combined(law: Law) -> bool:
    """Whether what is shown is least squares of several measurements, linear and unbiased."""
    return isinstance(law, Joint) and law.structure in _READ


def read_law(law: Law) -> CombinedLaw:
    assert isinstance(law, Joint)
    return _READ[law.structure](law)


def estimates(blocks: Sequence[Block], law: Joint) -> list[FloatArray]:
    """Shown tables, flat, in the order of the law's `shown`."""
    arrays, laws = [block.values for block in blocks], [block.law for block in blocks]
    return read_law(law).estimates(arrays, laws, law.parameters["blocks"])


def linear_map(release: Release, table: Table | str) -> Callable[[Sequence[IntArray]], FloatArray]:
    """The map from arrays shaped like the measured blocks to the cells of one shown table, flat."""
    law, position = _joint(release), _position(release, table)
    combined, laws = read_law(law), [block.law for block in release.blocks]
    return lambda arrays: combined.estimates(list(arrays), laws, law.parameters["blocks"])[position]


def covariance(release: Release, table: Table | str, cells: Sequence[int]) -> FloatArray:
    """Exact covariance matrix of some shown cells (flat positions) of one table, from the noise alone.

    A structural zero is not perturbed: its variance is zero.
    """
    position = _position(release, table)
    if isinstance(release.law, Additive):
        impossible = release.tables[position].space.structural_indices
        noisy = ~np.isin(np.asarray(cells, dtype=np.int64), impossible)
        return np.diag(noisy * release.law.variance)
    law = _joint(release)
    return read_law(law).covariance(position, cells, position, cells)


def cross_covariance(release: Release, first: Table | str, cell: int, second: Table | str, other: int) -> float:
    """Covariance of one cell of a table and one cell of another."""
    law, one, two = _joint(release), _position(release, first), _position(release, second)
    return float(read_law(law).covariance(one, [cell], two, [other])[0, 0])


def variances(law: Joint) -> list[FloatArray]:
    """Variance of every cell of every table that a combined law shows, flat."""
    return read_law(law).variances


def largest_variances(law: Joint) -> list[float]:
    """The largest variance of a cell of each shown table, from the law alone."""
    return [float(variance.max()) for variance in variances(law)]


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
    own, read = block.law, read_law(law)
    if isinstance(own, Additive):
        counts = read.counts(interior, spec).ravel()
        noise = _noise(own.noise, len(counts), generator)
        noise[list(block.space.structural_indices)] = 0
        return counts + noise
    if not isinstance(own, Joint):
        raise Unsupported("Only additive and joint blocks can be simulated.")
    if law.structure == RANGES:
        counts = read.counts(interior, spec).ravel()
        return counts + _wide(own.parameters, len(counts), generator)
    parts = []
    for part in own.parameters["components"]:
        counts = read.counts(interior, part)
        if own.structure == "fourier":
            for _ in part["axes"]:
                counts = counts[0] - counts[1]
            parts.append(np.ravel(counts) + _noise(_law(part), 1, generator))
        else:
            parts.append(_residual(counts, part, 1 if "level" in part else 0, generator))
    return np.concatenate(parts)


def _residual(counts: IntArray, part: Mapping[str, Any], first: int, generator: "np.random.Generator") -> IntArray:
    """A component as it is released: noisy, and less its first entry along every axis from `first` on."""
    deviation = float(Fraction(part["noise_variance"])) ** 0.5
    noise = np.rint(generator.normal(0, deviation, counts.shape)).astype(np.int64)
    scaled = counts * np.int64(prod(counts.shape[first:])) + noise
    for axis in range(first, scaled.ndim):
        scaled = scaled - np.take(scaled, [0], axis=axis)
    return scaled.ravel()


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
    UnknownName.check("table", name, names)
    return names.index(name)


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
