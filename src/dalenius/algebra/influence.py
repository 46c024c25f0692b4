"""How far a row moves a covariance or correlation, at released numbers: what their error of sampling needs.

A row (x, y) moves a covariance by (u v - c) / n and a correlation by (zx zy - r (zx^2 + zy^2) / 2) / n, where u and v
are its distances from the means, and zx and zy the same in standard deviations. Both are h / n with h = p u v - q u^2 -
s v^2 - c. The variance of sampling is the sum of h^2 over n^2, for rows of any distribution. Noise of the released
means, variances and products does no harm: the estimate is a function of the noisy numbers, and its derivative at them
is what rows move it by.
"""

from dataclasses import dataclass

import numpy as np

from dalenius.core.law import FloatArray

# What a row adds where h is largest within the declared bounds; less is rounded up, so that no variance is too small.
GRID = 2**24
# Numbers by which a cell's h is known: two means, p, q, s, c, and the largest size.
Point = tuple[float, float, float, float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Box:
    """Declared bounds of two variables, in steps."""

    x: tuple[float, float]
    y: tuple[float, float]

    def points(
        self,
        means: tuple[FloatArray, FloatArray],
        product: FloatArray,
        squares: tuple[FloatArray, FloatArray],
        constant: FloatArray,
    ) -> FloatArray:
        """The numbers of every cell, a row each; where one of them is not known, those of h = 0."""
        u, v = (
            np.maximum(np.abs(low - mean), np.abs(high - mean))
            for (low, high), mean in zip((self.x, self.y), means, strict=True)
        )
        q, s = squares
        with np.errstate(all="ignore"):
            largest = np.abs(product) * u * v + np.abs(q) * u**2 + np.abs(s) * v**2 + np.abs(constant)
        made = np.stack(np.broadcast_arrays(*means, product, q, s, constant, largest), axis=1)
        is_known = np.isfinite(made).all(axis=1) & (largest > 0)
        return np.where(is_known[:, None], made, np.array([0, 0, 0, 0, 0, 0, 1.0]))

    @property
    def start(self) -> Point:
        """Products about the middles: with what noise is planned before anything is released."""
        middles = [(low + high) / 2 for low, high in (self.x, self.y)]
        one, none = np.ones(1), np.zeros(1)
        means = (np.full(1, middles[0]), np.full(1, middles[1]))
        first: Point = tuple(self.points(means, one, (none, none), none)[0].tolist())
        return first


def squared(points: FloatArray, x: FloatArray, y: FloatArray, grid: int) -> FloatArray:
    """What rows add: whole numbers from 0 to `grid`, whatever the numbers of their cells are."""
    u, v = x - points[:, 0], y - points[:, 1]
    with np.errstate(all="ignore"):
        h = points[:, 2] * u * v - points[:, 3] * u**2 - points[:, 4] * v**2 - points[:, 5]
        share = np.nan_to_num((h / points[:, 6]) ** 2, nan=1.0, posinf=1.0)
    return np.ceil(grid * np.clip(share, 0.0, 1.0))
