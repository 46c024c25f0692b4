"""Intervals for means: every quotient that the noise of count and total allows together, cut to what is possible.

A mean is centre + total / count of two measured blocks. Each noise stays within its own half width with half of the
error probability, so both do with at least `confidence`; the exact mean then lies between the extreme quotients,
whatever the size of the cell. Counts of a mean are at least one. No normal approximation is made, so that small cells
are covered too.
"""

from fractions import Fraction

import numpy as np

from dalenius.algebra import joint
from dalenius.core.estimate import Kind
from dalenius.core.law import MEANS, Joint
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported
from dalenius.inference.interval import simultaneous_confidence
from dalenius.inference.interval_table import IntervalTable

# Stands for the smallest weight where that is declared as nothing.
_TINY = 1e-9
METHOD = "all quotients within the noise of total and count, cut at the declared bounds"


def mean_intervals(release: Release, table: Table, confidence: float, together: bool) -> IntervalTable:
    """Of every cell of a released table of means."""
    law = release.law
    if not isinstance(law, Joint) or law.structure != MEANS:
        raise Unsupported("This release does not hold the count and the total behind its means.")
    beside = {other.measure: other for other in release.tables if other.space.axes == table.space.axes}
    counts, totals = beside.get("count") or beside.get("weighted count"), beside.get("total")
    if counts is None or totals is None:
        raise Unsupported("This release does not hold the count and the total behind its means.")
    centre = float(Fraction(str(law.parameters["centre"])))
    level = simultaneous_confidence(confidence, table.space.size) if together else confidence
    reach = joint.reach([block.law for block in release.blocks], (1 + level) / 2)
    # The total about the centre was measured apart from the count.
    spread = np.maximum(totals.variance - centre**2 * counts.variance, 0.0)
    far, near = reach * np.sqrt(spread), reach * counts.std_error
    low, high = (float(Fraction(end)) for end in law.parameters["bounds"])
    fewest = max(float(Fraction(law.parameters.get("least", "1"))), _TINY)
    total = totals.values - centre * counts.values
    corners = [
        centre + (total + t * far) / np.maximum(counts.values + n * near, fewest) for t in (-1, 1) for n in (-1, 1)
    ]
    # A cell that may hold nobody has no mean, and nothing is said of it but what is possible.
    is_empty = counts.values + near < fewest
    lower = np.where(is_empty, low, np.min(corners, axis=0))
    upper = np.where(is_empty, high, np.max(corners, axis=0))
    return IntervalTable(
        axes=table.space.axes,
        values=np.clip(table.values, low, high),
        lower=np.clip(lower, low, high),
        upper=np.clip(upper, low, high),
        confidence=confidence,
        kind=Kind.NOISE,
        method=METHOD,
        is_simultaneous=together,
        structural_zeros=frozenset(table.space.structural_indices),
    )
