"""One number of a released table: its interval, its share of a sum, and how far to trust it."""

from dataclasses import dataclass
from math import inf, isfinite, isinf, sqrt
from statistics import NormalDist

import numpy as np

from dalenius.algebra.tabulation import bounds, estimate_of, sampled_bounds
from dalenius.core.law import Additive, FloatArray
from dalenius.core.release import Release, Table
from dalenius.errors import InternalError

CARE, UNRELIABLE = "care", "unreliable"
# Whether a reader sees the error of a number as plus and minus, or as the ends of its interval.
MARGIN, INTERVAL = "margin", "interval"
CARE_ABOVE, UNRELIABLE_ABOVE = 1 / 6, 1 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number as shown: value, half-width of its interval, the least it can be, and how far to trust it.

    `half` is of the privacy noise alone, `half_with_sampling` of noise and sampling together where that was estimated.
    A number that is not known is None: NaN and infinity are refused, because comparisons with them read as verdicts.
    """

    value: float | None
    half: float | None = None
    half_with_sampling: float | None = None
    mark: str = ""
    is_total: bool = False
    is_structural: bool = False
    is_percent: bool = False
    least: float = 0.0
    is_selected: bool = False
    most: float = inf

    def __post_init__(self) -> None:
        if any(x is not None and not isfinite(x) for x in (self.value, self.half, self.half_with_sampling)):
            raise InternalError("A number of a cell is finite, or it is None.")

    @property
    def lower(self) -> float | None:
        """Lower end, cut at the least possible number: a count is never negative."""
        if self.value is None or self.half is None:
            return None
        return min(max(self.value - self.half, self.least), self.most)

    @property
    def upper(self) -> float | None:
        if self.value is None or self.half is None:
            return None
        return min(max(self.value + self.half, self.least), self.most)

    @property
    def is_cut(self) -> bool:
        """Whether declared bounds end its interval before its margin of error does."""
        if self.value is None or self.half is None or isinf(self.most):
            return False
        return self.value - self.half < self.least or self.value + self.half > self.most


def known(number: float) -> float | None:
    """The number, or None where it is NaN or infinite: what is compared is known.

    >>> known(3.0), known(float("nan")), known(float("inf"))
    (3.0, None, None)
    """
    return number if isfinite(number) else None


def half_widths(release: Release, table: Table, confidence: float) -> FloatArray:
    """Half the width of each cell's interval: exact from the law of one block, otherwise normal at its variance.

    None (NaN) where numbers were moved to agree with others: the law of their error is not known.
    """
    if any(adjustment.get("name") == "anchor" for adjustment in release.adjustments):
        return np.full(table.values.shape, np.nan)
    if estimate_of(release, table) is not None:
        return _farther(table, *bounds(release, table, confidence))
    normal: FloatArray = NormalDist().inv_cdf(0.5 + confidence / 2) * table.std_error
    block = next((b for b in release.blocks if b.name == table.name and b.role == "table"), None)
    if block is None or not isinstance(block.law, Additive) or not table.is_unbiased:
        return normal
    # A name may return for sums of cells (own groups of a stored list); only a cell with the law's own variance has it.
    exact = block.law.half_width(confidence) * float(block.law.step)
    return np.where(np.isclose(table.variance, block.law.variance), exact, normal)


def half_widths_with_sampling(release: Release, table: Table, confidence: float) -> FloatArray:
    """The same for noise and sampling together; NaN where the error of sampling was not estimated."""
    return _farther(table, *sampled_bounds(release, table, confidence))


def _farther(table: Table, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The distance to the farther end of an interval that need not be symmetric."""
    return np.maximum(upper - table.values, table.values - lower)


def reliability(value: float, error: float | None) -> str:
    """Nothing up to a coefficient of variation of 1/6, then "care", above 1/3 "unreliable"; nothing without error.

    >>> reliability(100, 10), reliability(100, 20), reliability(100, 50), reliability(-3, 2), reliability(0, 0)
    ('', 'care', 'unreliable', 'unreliable', '')
    >>> reliability(100, None), reliability(-3, None)
    ('', '')
    """
    if error is None or not isfinite(error) or error == 0:
        return ""
    if value <= 0 or error > UNRELIABLE_ABOVE * value:
        return UNRELIABLE
    return CARE if error > CARE_ABOVE * value else ""


def share_of(value: float, variance: float, whole: tuple[float, float]) -> tuple[float | None, float | None]:
    """A part of a sum that contains it, and its standard error by linearisation; nothing if the sum is too vague.

    The part and the rest carry independent noise, so cov(part, sum) = var(part). A sum of unknown error is too vague.
    """
    total, total_variance = whole
    if not (total > 0 and total >= 3 * sqrt(total_variance)):
        return None, None
    share = value / total
    spread = max(variance * (1 - 2 * share) + share**2 * total_variance, 0.0)
    return share, known(sqrt(spread) / total)
