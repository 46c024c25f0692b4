"""Intervals for means: every quotient that the noise of count and total allows together, cut to what is possible.

A mean is centre + total / count of two measured blocks. Each noise stays within its own half width with half of the error
probability, so both do with at least `confidence`; the exact mean then lies between the extreme quotients, whatever the size of
the cell. Counts of a mean are at least one. No normal approximation is made, so that small cells are covered too.
"""

from fractions import Fraction
from math import inf

import numpy as np

from dalenius.core.estimate import Kind
from dalenius.core.law import Additive, Joint
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported
from dalenius.inference.interval import simultaneous_confidence
from dalenius.inference.interval_table import IntervalTable
from dalenius.linear.tabulation import POSSIBLE

METHOD = "all quotients within the noise of total and count, cut at the declared bounds"


def mean_intervals(release: Release, table: Table, confidence: float, together: bool) -> IntervalTable:
    """Of every cell of a released table of means."""
    law = release.law
    laws = [block.law for block in release.blocks]
    if not isinstance(law, Joint) or law.structure != "mean" or len(laws) != 2:
        raise Unsupported("This release does not hold the count and the total behind its means.")
    counting, summing = laws
    assert isinstance(counting, Additive) and isinstance(summing, Additive)
    cells = table.space.size
    level = simultaneous_confidence(confidence, cells) if together else confidence
    # Half of the error probability for each of the two noises.
    near, far = ((one.half_width((1 + level) / 2) * float(one.step)) for one in (counting, summing))
    counts, totals = (block.values * float(one.step) for block, one in zip(release.blocks, laws, strict=True))  # type: ignore[union-attr]
    low, high = _limits(release, table)
    centre = float(Fraction(str(law.parameters["centre"])))
    corners = [
        centre + (totals + t) / np.maximum(counts + n, 1.0) for t in (-far, far) for n in (-near, near)
    ]
    lower, upper = np.min(corners, axis=0), np.max(corners, axis=0)
    # A cell that may hold nobody has no mean, and nothing is said of it but what is possible.
    is_empty = counts + near < 1
    lower, upper = np.where(is_empty, low, lower), np.where(is_empty, high, upper)
    zeros = list(table.space.structural_indices)
    return IntervalTable(
        axes=table.space.axes,
        values=np.clip(table.values, low, high),
        lower=np.clip(lower, low, high),
        upper=np.clip(upper, low, high),
        confidence=confidence,
        kind=Kind.NOISE,
        method=METHOD,
        is_simultaneous=together,
        structural_zeros=frozenset(zeros),
    )


def _limits(release: Release, table: Table) -> tuple[float, float]:
    """The declared bounds, where the release records them."""
    for note in release.adjustments:
        if note.get("name") == POSSIBLE and note.get("table") == table.name:
            return float(note["lower"]), float(note["upper"])
    return -inf, inf
