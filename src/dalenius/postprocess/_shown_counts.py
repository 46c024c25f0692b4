"""What may be shown of a release: numbers that declared bounds allow, and whole counts from a least one on.

Under a policy's rule of whole counts a single measured block is published as it is shown, under its censored law;
several blocks are left out, and the cells of the consistent table are rounded and hidden one by one.
"""

from dataclasses import replace

import numpy as np

from dalenius.algebra.tabulation import bounds
from dalenius.core.law import Censored, FloatArray
from dalenius.core.release import POSSIBLE, SHOWN_FROM, Release, Table


def shown_from(least: int, release: Release) -> Release:
    if isinstance(release.law, Censored):
        law = release.law
        blocks = tuple(replace(block, values=law.show(block.values), law=law) for block in release.blocks)
        tables = tuple(_shown(table, least, law.variance) for table in release.tables)
        return release.with_(blocks=blocks, tables=tables)
    note = {
        "name": SHOWN_FROM,
        "least": least,
        "method": "each cell of the consistent table, rounded to a whole count; sums need not agree",
        "intervals": "from the largest error of a shown cell, wider by the half that rounding may take",
    }
    tables = tuple(_shown(table, least, largest_error(table.variance, least)) for table in release.tables)
    return release.with_(blocks=(), tables=tables, adjustments=(*release.adjustments, note))


def _shown(table: Table, least: int, error: float | FloatArray) -> Table:
    """Whole counts from `least` on and 0 below; a cell that is declared impossible has no error."""
    values = np.rint(table.values)
    variance = np.broadcast_to(error, values.shape).copy()
    variance[list(table.space.structural_indices)] = 0.0
    return replace(table, values=np.where(values >= least, values, 0.0), variance=variance, is_unbiased=False)


def largest_error(variance: FloatArray, least: int) -> FloatArray:
    """The largest mean squared error, over all exact counts, of normal values that are hidden below `least`."""
    from scipy.special import ndtr

    distinct, which = np.unique(np.nan_to_num(variance, nan=-1.0), return_inverse=True)
    spread = np.sqrt(np.maximum(distinct, 1e-12))[:, None]
    exact = np.linspace(0.0, 1.0, 513) * (least + 8 * spread)
    z = (least - 0.5 - exact) / spread
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    above = spread**2 * (ndtr(-z) + z * density)
    worst = (above + exact**2 * ndtr(z)).max(axis=1)
    # A twelfth for rounding, and one part in a hundred for exact counts between the points of the grid.
    errors = np.where(distinct > 0, np.maximum(worst * 1.01, distinct) + 1 / 12, np.maximum(distinct, 0.0))
    return np.where(np.isnan(variance), np.nan, errors[which.reshape(variance.shape)])


def within(limits: tuple[float, float] | None, release: Release) -> Release:
    """The release with the values of its first table inside the limits; the measured blocks stay.

    The exact value lies inside, so that cutting a value brings it nearer and cutting an interval loses no coverage. A
    release in which no value and no end of a 95 % interval lies outside passes unchanged.
    """
    if limits is None or not release.tables:
        return release
    first, (low, high) = release.tables[0], limits
    ends = np.concatenate([first.values, *bounds(release, first)])
    if not np.any((ends < low) | (ends > high)):
        return release
    values = np.clip(first.values, low, high)
    is_moved = bool(np.any(values[~np.isnan(values)] != first.values[~np.isnan(values)]))
    shown = replace(first, values=values, is_unbiased=first.is_unbiased and not is_moved)
    note = {
        "name": POSSIBLE,
        "table": first.name,
        "lower": low,
        "upper": high,
        "method": "shown values and intervals are cut to what the declared bounds allow; measured values stay",
    }
    return release.with_(tables=(shown, *release.tables[1:]), adjustments=(*release.adjustments, note))
