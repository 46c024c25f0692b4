"""Margins along declared hierarchies (region within country), by dense least squares on small tables.

A view is one entry for each axis of the finest table: None where the axis is summed out, otherwise the group of each
category (its own position for the finest level). Groups of unequal size break the symmetry that the residual
decomposition needs, so here the normal equations are solved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from dalenius.core.law import FloatArray
from dalenius.errors import TooLarge

View = tuple[tuple[int, ...] | None, ...]
MOST_DENSE_CELLS = 1000


def aggregate(values: FloatArray, view: View) -> FloatArray:
    """The finest table (in its shape), summed to a view."""
    out = np.asarray(values)
    for axis in reversed(range(len(view))):
        groups = view[axis]
        if groups is None:
            out = out.sum(axis=axis)
        elif groups != tuple(range(len(groups))):
            moved = np.moveaxis(out, axis, 0)
            summed = np.zeros((max(groups) + 1, *moved.shape[1:]), dtype=moved.dtype)
            np.add.at(summed, list(groups), moved)
            out = np.moveaxis(summed, 0, axis)
    return np.asarray(out)


def matrix(shape: Sequence[int], view: View) -> FloatArray:
    """The view as a matrix over the cells of the finest table."""
    out: FloatArray = np.ones((1, 1))
    for size, groups in zip(shape, view, strict=True):
        if groups is None:
            part = np.ones((1, size))
        else:
            part = np.zeros((max(groups) + 1, size))
            part[list(groups), range(size)] = 1
        out = np.asarray(np.kron(out, part), dtype=np.float64)
    return out


@dataclass(frozen=True, eq=False)
class Measured:
    """One measured view with the variance of its cells."""

    view: View
    variance: float


class DenseLeastSquares:
    """Best linear unbiased estimates of views from measured views, with exact covariances."""

    def __init__(self, shape: Sequence[int], measured: Sequence[Measured]) -> None:
        cells = prod(shape)
        if cells > MOST_DENSE_CELLS:
            raise TooLarge(
                f"Least squares along hierarchies is served up to {MOST_DENSE_CELLS:,} cells.", received=cells
            )
        self.shape = tuple(shape)
        self.measured = tuple(measured)
        self._maps = [matrix(shape, m.view) for m in measured]
        normal = sum(b.T @ b / m.variance for b, m in zip(self._maps, measured, strict=True))
        self._inverse = np.linalg.pinv(np.asarray(normal), hermitian=True)

    def covariance(self, view: View) -> FloatArray:
        """Covariance matrix of the estimated cells of a view."""
        shown = matrix(self.shape, view)
        return np.asarray(shown @ self._inverse @ shown.T)

    def estimate(self, values: Sequence[FloatArray], view: View) -> FloatArray:
        """The cells of a view, flat."""
        pairs = zip(self._maps, self.measured, values, strict=True)
        right = sum(b.T @ np.ravel(y) / m.variance for b, m, y in pairs)
        return np.asarray(matrix(self.shape, view) @ (self._inverse @ np.asarray(right)))
