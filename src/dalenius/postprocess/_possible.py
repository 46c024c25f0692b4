"""Shown values and intervals cut to what the declared bounds allow: recorded, where something lies outside."""

from dataclasses import replace

import numpy as np

from dalenius.algebra.tabulation import bounds
from dalenius.core.release import POSSIBLE, Release


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
