"""Arithmetic of margins: residual components, and exact variances after least squares (docs/explanation/margins.md).

Axes have sizes n_i; a margin is a sorted tuple of axis positions, () is the grand total.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import ParameterError

Number = TypeVar("Number", np.int64, np.float64)
Margin = tuple[int, ...]
Components = Mapping[Margin, float]
_MOST_GROUPED = 2_000_000


def subsets(margin: Margin) -> Iterable[Margin]:
    for size in range(len(margin) + 1):
        yield from combinations(margin, size)


def closure(margins: Iterable[Margin]) -> tuple[Margin, ...]:
    """Every subset of every margin, ordered by size and then by position.

    >>> closure([(0, 2)])
    ((), (0,), (2,), (0, 2))
    """
    parts = {part for margin in set(margins) for part in subsets(margin)}
    return tuple(sorted(parts, key=lambda a: (len(a), a)))


def all_margins(axes: int, most: int | None = None, least: int = 0) -> tuple[Margin, ...]:
    top = axes if most is None else most
    return tuple(m for size in range(least, top + 1) for m in combinations(range(axes), size))


def centre(array: FloatArray, first: int = 0) -> FloatArray:
    """The array minus its means along each axis from `first` on: the projection on the residual component."""
    out = np.array(array, dtype=np.float64)
    for axis in range(first, out.ndim):
        out -= out.mean(axis=axis, keepdims=True)
    return out


def sum_out(array: NDArray[Number], margin: Margin, onto: Margin) -> NDArray[Number]:
    """The array over `margin`, summed to the sub-margin `onto`."""
    gone = tuple(k for k, axis in enumerate(margin) if axis not in onto)
    return np.asarray(array.sum(axis=gone)) if gone else array


def maximal(margins: Iterable[Margin]) -> tuple[Margin, ...]:
    """The margins that are not part of another one; all others are sums of these.

    >>> maximal([(0,), (0, 1), (2,)])
    ((2,), (0, 1))
    """
    ordered = sorted(set(margins), key=lambda a: (len(a), a))
    return tuple(a for a in ordered if not any(set(a) < set(b) for b in ordered))


def grouped(margins: Iterable[Margin], shape: Sequence[int]) -> tuple[Margin, ...]:
    """Few margins of at most two million cells (or one of those given) of which all given ones are sums.

    >>> grouped([(0, 1), (1, 2), (0, 2)], (5, 5, 5))
    ((0, 1, 2),)
    """
    groups: list[Margin] = []
    for margin in reversed(maximal(margins)):
        unions = [tuple(sorted({*group, *margin})) for group in groups]
        sizes = [prod(shape[a] for a in union) for union in unions]
        best = min(range(len(groups)), key=lambda k: sizes[k], default=None)
        if best is not None and sizes[best] <= _MOST_GROUPED:
            groups[best] = unions[best]
        else:
            groups.append(margin)
    return maximal(groups)


def holder(margin: Margin, among: Sequence[Margin]) -> Margin:
    """The smallest of some margins that contains a given one."""
    return min((b for b in among if set(margin) <= set(b)), key=lambda b: (len(b), b))


def spread(array: FloatArray, onto: Margin, margin: Margin) -> FloatArray:
    """The array over `onto`, with axes of length one where `margin` has more; broadcasts over `margin`."""
    position = dict(zip(onto, array.shape, strict=True))
    return array.reshape(tuple(position.get(axis, 1) for axis in margin))


@dataclass(frozen=True)
class Workload:
    """The margins that are asked for, with their weights: everything the planner knows."""

    shape: tuple[int, ...]
    margins: tuple[Margin, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.margins:
            raise ParameterError("A list of margins must not be empty; [] inside it is the grand total.")
        if len(set(self.margins)) != len(self.margins):
            raise ParameterError("A margin is listed twice.")
        if self.weights and (len(self.weights) != len(self.margins) or min(self.weights) <= 0):
            raise ParameterError("Give one positive weight for each margin.")
        for margin in self.margins:
            if tuple(sorted(set(margin))) != margin or any(not 0 <= a < len(self.shape) for a in margin):
                raise ParameterError(f"{margin} is not a sorted tuple of axes.")

    @property
    def importance(self) -> tuple[float, ...]:
        return self.weights or (1.0,) * len(self.margins)

    @cached_property
    def _sizes(self) -> dict[Margin, int]:
        return {}

    def size(self, margin: Margin) -> int:
        size = self._sizes.get(margin)
        if size is None:
            size = self._sizes[margin] = prod(self.shape[a] for a in margin)
        return size

    def outer(self, inner: Margin, margin: Margin) -> int:
        """Number of cells of `margin` that share one cell of `inner`."""
        return self.size(margin) // self.size(inner)

    def share(self, margin: Margin) -> float:
        """p_A: the squared length of one record in the residual component of A."""
        return prod(1 - 1 / self.shape[a] for a in margin)

    @cached_property
    def interior(self) -> Margin:
        return tuple(sorted({a for margin in self.margins for a in margin}))

    @cached_property
    def components(self) -> tuple[Margin, ...]:
        """Residual components that are not empty (an axis of a single category has none)."""
        return tuple(a for a in closure(self.margins) if all(self.shape[i] > 1 for i in a))

    @cached_property
    def influence(self) -> dict[Margin, float]:
        """v_A: what one unit of component variance adds to the weighted sum of cell variances."""
        total = dict.fromkeys(self.components, 0.0)
        for margin, weight in zip(self.margins, self.importance, strict=True):
            for a, factor in self.factors(margin).items():
                total[a] += weight * self.size(margin) * factor
        return total

    @cached_property
    def _factors(self) -> dict[Margin, dict[Margin, float]]:
        return {}

    @cached_property
    def _shares(self) -> dict[Margin, float]:
        return {a: self.share(a) for a in self.components}

    def factors(self, margin: Margin) -> Mapping[Margin, float]:
        """What one unit of each component's variance adds to the variance of one cell of the margin."""
        factors = self._factors.get(margin)
        if factors is None:
            shares, size = self._shares, self.size(margin)
            parts = [(a, shares.get(a)) for a in subsets(margin)]
            factors = {a: p * (self.size(a) / size) ** 2 for a, p in parts if p is not None}
            self._factors[margin] = factors
        return factors

    def variance(self, components: Components, margin: Margin) -> float:
        return sum(components[a] * f for a, f in self.factors(margin).items())

    def loss(self, components: Components) -> float:
        """Weighted sum of all cell variances."""
        return sum(components[a] * v for a, v in self.influence.items())

    def rmse(self, components: Components) -> float:
        """Root of the (weighted) mean variance over all cells asked for."""
        cells = sum(w * self.size(m) for m, w in zip(self.margins, self.importance, strict=True))
        return sqrt(self.loss(components) / cells)

    def worst(self, components: Components) -> float:
        """Largest standard error of a cell; a margin of weight w counts as if its variance were divided by w."""
        pairs = zip(self.margins, self.importance, strict=True)
        return sqrt(max(self.variance(components, m) / w for m, w in pairs))

    def after_least_squares(self, precisions: Mapping[Margin, float]) -> dict[Margin, float]:
        """Component variances when each margin B was measured with variance 1 / precisions[B] in every cell."""
        weight = dict.fromkeys(self.components, 0.0)
        for margin, precision in precisions.items():
            if precision > 0:
                for a in subsets(margin):
                    if a in weight:
                        weight[a] += precision / self.outer(a, margin)
        return {a: (1 / w if w > 0 else np.inf) for a, w in weight.items()}

    def covariance(
        self, components: Components, first: Margin, cells: Sequence[int], second: Margin, others: Sequence[int]
    ) -> FloatArray:
        """Covariance of each of some cells (flat positions) of a margin with each of some of another."""
        left, right = self._labels(first, cells), self._labels(second, others)
        out = np.zeros((len(cells), len(others)))
        for a in subsets(tuple(i for i in first if i in right)):
            if all(self.shape[i] > 1 for i in a):
                part = np.full(out.shape, components[a] / (self.outer(a, first) * self.outer(a, second)))
                for i in a:
                    part *= (left[i][:, None] == right[i]) - 1 / self.shape[i]
                out += part
        return out

    def _labels(self, margin: Margin, cells: Sequence[int]) -> dict[int, IntArray]:
        shape = tuple(self.shape[i] for i in margin)
        flat = np.asarray(cells, dtype=np.int64)
        return dict(zip(margin, np.unravel_index(flat, shape), strict=True)) if margin else {}


def reconstruct(workload: Workload, parts: Mapping[Margin, FloatArray], margin: Margin) -> FloatArray:
    """The margin whose residual components are given; components of one-category axes are empty."""
    out = np.zeros(tuple(workload.shape[a] for a in margin))
    for a in subsets(margin):
        if a in parts:
            out += spread(parts[a], a, margin) / workload.outer(a, margin)
    return out


def least_squares(
    workload: Workload, measured: Mapping[Margin, FloatArray], variances: Mapping[Margin, float]
) -> dict[Margin, FloatArray]:
    """The requested margins by generalised least squares, given independently measured margins.

    Exact, without a linear solve: each residual component is the precision-weighted mean of its copies. The noise
    within one margin must be uncorrelated with equal variance in all cells.
    """
    if len(measured) == 1:
        ((whole, values),) = measured.items()
        return {margin: sum_out(values, whole, margin) for margin in workload.margins}
    holders = {a: [b for b in measured if set(a) <= set(b)] for a in workload.components}
    best: dict[Margin, FloatArray] = {}
    own: dict[tuple[Margin, Margin], FloatArray] = {}
    for a, holding in holders.items():
        if not holding:
            raise ParameterError(f"No measured margin determines the component {a}.")
        weights = [1 / (variances[b] * workload.outer(a, b)) for b in holding]
        copies = [centre(sum_out(measured[b], b, a)) for b in holding]
        own.update({(b, a): copy for b, copy in zip(holding, copies, strict=True)} if len(holding) > 1 else {})
        best[a] = np.asarray(sum(w * c for w, c in zip(weights, copies, strict=True)) / sum(weights))
    result = {}
    for margin in workload.margins:
        if margin in measured:
            # Only components with several copies differ from the margin's own measurement.
            out = np.array(measured[margin], dtype=np.float64)
            for a in subsets(margin):
                if (margin, a) in own:
                    out += spread(best[a] - own[margin, a], a, margin) / workload.outer(a, margin)
            result[margin] = out
        else:
            result[margin] = reconstruct(workload, best, margin)
    return result
