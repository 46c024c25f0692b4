"""The law of a table that was measured for its ranges, read from its document: docs/explanation/margins.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from dalenius.algebra.ranges import Factor, RangeWorkload
from dalenius.algebra.tree_law import LawKey, grouped_squares
from dalenius.core.law import FloatArray, IntArray, Joint, Law

STRUCTURE = "ranges"
MOST_ZEROS = 1500


@dataclass(frozen=True, eq=False)
class RangeLaw:
    """Integer matrices of the axes, the variance of the noise on what they measure, and the cells that are 0."""

    factors: tuple[Factor, ...]
    variance: float
    zeros: IntArray

    @classmethod
    def of(cls, law: Joint) -> "RangeLaw":
        return _read(LawKey(law))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(factor.size for factor in self.factors)

    def to_parameters(self) -> dict[str, Any]:
        zeros = {"structural_zeros": self.zeros.tolist()} if len(self.zeros) else {}
        return {"factors": [f.to_dict() for f in self.factors], "noise_variance": self.variance} | zeros

    def measured(self, cells: IntArray) -> IntArray:
        return np.asarray(_applied([factor.matrix for factor in self.factors], cells.reshape(self.shape)))

    def estimate(self, answers: IntArray | FloatArray) -> FloatArray:
        """Unbiased cells of least variance, flat."""
        sizes = [len(factor.matrix) for factor in self.factors]
        solutions = [factor.solution for factor in self.factors]
        cells = _applied(solutions, np.asarray(answers, dtype=np.float64).reshape(sizes)).ravel()
        if len(self.zeros):
            cells = cells - self._against.T @ np.linalg.solve(self._known, cells[self.zeros])
            cells[self.zeros] = 0.0
        return np.asarray(cells)

    def estimates(
        self, arrays: Sequence[IntArray], laws: Sequence[Law], blocks: Sequence[Mapping[str, Any]]
    ) -> list[FloatArray]:
        return [self.estimate(arrays[0])]

    @cached_property
    def _against(self) -> FloatArray:
        """Covariance of every impossible cell with all cells, before these are known to be 0."""
        rows = np.ones((len(self.zeros), 1))
        for places, factor in zip(np.unravel_index(self.zeros, self.shape), self.factors, strict=True):
            rows = (rows[:, :, None] * factor.covariance[places][:, None, :]).reshape(len(self.zeros), -1)
        return rows * self.variance

    @cached_property
    def _known(self) -> FloatArray:
        return np.asarray(self._against[:, self.zeros])

    @cached_property
    def variances(self) -> list[FloatArray]:
        out = np.ones(1)
        for factor in self.factors:
            out = np.multiply.outer(out, factor.covariance.diagonal()).ravel()
        out = out * self.variance
        if len(self.zeros):
            out = out - (self._against * np.linalg.solve(self._known, self._against)).sum(axis=0)
            out[self.zeros] = 0.0
        return [np.maximum(out, 0.0)]

    def covariance(self, first: int, cells: Sequence[int], second: int, others: Sequence[int]) -> FloatArray:
        one, two = (np.asarray(list(places), dtype=np.int64) for places in (cells, others))
        out = np.full((len(one), len(two)), self.variance)
        at, to = np.unravel_index(one, self.shape), np.unravel_index(two, self.shape)
        for factor, here, there in zip(self.factors, at, to, strict=True):
            out *= factor.covariance[np.ix_(here, there)]
        if len(self.zeros):
            left, right = self._against[:, one], self._against[:, two]
            out = out - left.T @ np.linalg.solve(self._known, right)
            out[np.isin(one, self.zeros)] = 0.0
            out[:, np.isin(two, self.zeros)] = 0.0
        return out

    def square(self, position: int, weights: FloatArray) -> float:
        """Variance of a weighted sum of the cells: any range, box, union or difference."""
        flat = np.asarray(weights, dtype=np.float64).ravel()
        moved = _applied([factor.covariance for factor in self.factors], flat.reshape(self.shape)).ravel()
        total = float(flat @ moved) * self.variance
        if len(self.zeros):
            against = moved[self.zeros] * self.variance
            total -= float(against @ np.linalg.solve(self._known, against))
        return max(total, 0.0)

    def mean_square(self, workload: RangeWorkload) -> float:
        mean = workload.mean_square(self.factors) * self.variance
        if not len(self.zeros):
            return mean
        solved = np.linalg.solve(self._known, self._against)
        held = self._against.reshape(-1, *self.shape)
        for term, times in workload.weighted:
            within = _applied([np.eye(len(held)), *(asked.gram for asked in term)], held)
            mean -= times * float((within.reshape(solved.shape) * solved).sum()) / workload.count
        return max(mean, 0.0)

    def grouped_variance(self, position: int, groups: Sequence[Sequence[int]]) -> FloatArray:
        if len(self.zeros):
            return grouped_squares(partial(self.square, position), groups)
        out = np.ones(1)
        for own, factor in zip(groups, self.factors, strict=True):
            mask = np.asarray(own)[None, :] == np.arange(max(own) + 1)[:, None]
            squares = np.einsum("gi,ij,gj->g", mask, factor.covariance, mask, optimize=True)
            out = np.multiply.outer(out, squares).ravel()
        return np.asarray(out * self.variance)

    def counts(self, interior: IntArray, spec: Mapping[str, Any]) -> IntArray:
        return self.measured(interior)


def _applied(matrices: Sequence[Any], array: Any) -> Any:
    for axis, matrix in enumerate(matrices):
        array = np.moveaxis(np.tensordot(matrix, array, axes=([1], [axis])), 0, axis)
    return array


@lru_cache(maxsize=8)
def _read(key: LawKey) -> RangeLaw:
    content = key.law.parameters
    factors = tuple(Factor.from_dict(part) for part in content["factors"])
    zeros = np.asarray(content.get("structural_zeros", ()), dtype=np.int64)
    return RangeLaw(factors, float(content["noise_variance"]), zeros)
