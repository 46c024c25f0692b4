"""Whether two released cells differ by more than their noise.

Two cells of one measured block carry independent noise of one public law, so the law of their difference is its
convolution with its mirror image, and the margin is exact. Counts that combine blocks have a margin from their joint
covariance. Other numbers of a list, its means above all, share noise whose covariance is not rebuilt here: each cell
stays within its own margin at half of the error probability, and the sum of both margins holds whatever they share.
Cells of one table that share no noise get a normal margin at the sum of their variances.
"""

from math import sqrt
from statistics import NormalDist

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.tabulation import is_listed
from dalenius.core.law import Additive
from dalenius.core.release import Release, Table
from dalenius.shown.cells import half_widths, known

_MOST_POINTS = 20_000


def difference_margin(
    release: Release, table: Table, first: int, second: int, confidence: float = 0.95
) -> float | None:
    """Half the width of the interval of a difference of two cells; None where either has no margin of error."""
    pair = [first, second]
    if not np.isfinite(half_widths(release, table, confidence)[pair]).all():
        return None
    block = next((b for b in release.blocks if b.name == table.name and b.role == "table"), None)
    if block is not None and isinstance(block.law, Additive) and table.is_unbiased:
        is_drawn = np.allclose(table.variance[pair], block.law.variance)
        exact = _convolved(block.law, confidence) if is_drawn else None
        if exact is not None:
            return exact
    if joint.is_combined(release.law) and any(table.name == own.name for own in release.tables):
        spread = joint.covariance(release, table, pair)
        reach = joint.reach([block.law for block in release.blocks], confidence)
        return known(reach * sqrt(float(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1])))
    if joint.is_combined(release.law) or is_listed(release.law):
        return known(float(half_widths(release, table, (1 + confidence) / 2)[pair].sum()))
    variance = float(table.variance[first] + table.variance[second])
    return known(NormalDist().inv_cdf(0.5 + confidence / 2) * sqrt(variance))


def _convolved(law: Additive, confidence: float) -> float | None:
    """Smallest q with P(|noise - noise'| > q) <= 1 - confidence, in units of the value; None if the law is too wide."""
    points, masses = law.central(1e-9)
    if len(points) > _MOST_POINTS:
        return None
    spread = np.convolve(masses, masses[::-1])
    middle = len(masses) - 1
    inside = spread[middle]
    reach = 0
    while inside < confidence and reach < middle:
        reach += 1
        inside += spread[middle - reach] + spread[middle + reach]
    return reach * float(law.step)
