"""No negative counts, and margins that still add up: docs/reference/postprocess/nonnegative.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from dalenius.algebra.adjusting import axis_names, finest, from_finest, has_levels, restored, shaped
from dalenius.algebra.margins import Margin, spread, sum_out
from dalenius.algebra.tree_whole import TopDown, is_along, nearest
from dalenius.core.law import FloatArray
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.postprocess._moved import moved

_MOST_CELLS, _MOST_STEPS = 2_000_000, 300


@dataclass(frozen=True)
class Nonnegative:
    """Replace shown tables by the nearest consistent ones without negative cells."""

    name: ClassVar[str] = "nonnegative"

    @classmethod
    def examples(cls, release: Release) -> "tuple[Nonnegative, ...]":
        return (cls(),)

    def __call__(self, release: Release) -> Release:
        if has_levels(release) and not is_along(release):
            raise Unsupported("Several levels of one variable are shown; adjust a release of one level.")
        is_down = is_along(release)
        values = TopDown(release).values(nearest) if is_down else _possible(release)
        method = "least squares from the top of the hierarchy down" if is_down else "weighted least squares"
        return moved(release, values, name=self.name, method=method, intervals="from the measured blocks, cut at 0")


def _possible(release: Release) -> Sequence[FloatArray]:
    try:
        table = finest(release)
    except Unsupported:
        return _from_margins(release)
    # Noise of a withheld size is taken to be alike in all cells; structural zeros have none.
    variance = np.where(np.isnan(table.variance), 1.0, np.maximum(table.variance, 0.0))
    cells = project(table.values, variance, max(float(table.values.sum()), 0.0))
    return from_finest(release, table, cells.reshape(table.shape))


def _from_margins(release: Release) -> list[FloatArray]:
    names = axis_names(release.tables)
    sizes = {a.name: len(a) for t in release.tables for a in t.space.axes}
    shape = tuple(sizes[n] for n in names)
    if prod(shape) > _MOST_CELLS:
        raise Unsupported(
            f"The full cross of the shown margins has more than {_MOST_CELLS:,} cells; use 'clamping' instead."
        )
    targets = [shaped(t, names) for t in release.tables]
    variances = [np.nan_to_num(t.variance, nan=1.0) for t in release.tables]
    cells = _fit(shape, targets, [1 / max(float(variance.mean()), 1e-9) for variance in variances])
    whole = tuple(range(len(names)))
    return [restored(t, names, sum_out(cells, whole, m)) for t, (m, _) in zip(release.tables, targets, strict=True)]


def project(values: FloatArray, variance: FloatArray, total: float) -> FloatArray:
    """The nearest non-negative array with the given total; cells without variance stay as they are.

    >>> project(np.array([3.0, -1.0, 2.0]), np.ones(3), 4.0)
    array([2.5, 0. , 1.5])
    """
    free = variance > 0
    out = np.array(values, dtype=np.float64)
    rest = max(total - float(out[~free].sum()), 0.0)
    y, v = out[free], variance[free]
    # The multiplier is found exactly: cells leave in the order of value / variance.
    order = np.argsort(-(y / v), kind="stable")
    ratio = (y / v)[order]
    multiplier = (np.cumsum(y[order]) - rest) / np.cumsum(v[order])
    inside = np.flatnonzero(ratio > multiplier)
    chosen = multiplier[inside[-1]] if len(inside) else np.inf
    out[free] = np.maximum(y - chosen * v, 0.0) if rest > 0 else 0.0
    return out


def _fit(shape: tuple[int, ...], targets: Sequence[tuple[Margin, FloatArray]], weights: Sequence[float]) -> FloatArray:
    """Non-negative least squares by accelerated projected gradient on the full cross."""
    whole = tuple(range(len(shape)))
    outer = [prod(shape[i] for i in whole if i not in m) for m, _ in targets]
    # The largest eigenvalue of the normal matrix is the sum of the margins' own.
    bound = sum(w * o for w, o in zip(weights, outer, strict=True))
    x = np.full(shape, max(float(np.mean([t.sum() for _, t in targets])), 0.0) / prod(shape))
    y, pace = x, 1.0
    for _ in range(_MOST_STEPS):
        gradient = np.zeros(shape)
        for (m, target), w in zip(targets, weights, strict=True):
            gradient += w * spread(sum_out(y, whole, m) - target, m, whole)
        fresh = np.maximum(y - gradient / bound, 0.0)
        quicker = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
        y = fresh + (pace - 1) / quicker * (fresh - x)
        if float(np.abs(fresh - x).max()) < 1e-9:
            return fresh
        x, pace = fresh, quicker
    return x
