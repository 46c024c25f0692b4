"""Each shown value on its own brought into a declared range; margins no longer add up.

`lower` and `upper` are declared, never read from data. With `threshold` c, values strictly between 0 and c are shown as
0 or c, whichever is nearer (the first TableBuilder property). The decision reads released values only. Intervals stay
valid because they come from the measured blocks and the truth lies in the declared range.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

import numpy as np

from dalenius.core.release import Release
from dalenius.errors import ParameterError

__all__ = ["Clamping"]


@dataclass(frozen=True)
class Clamping:
    """Cut shown values at declared bounds."""

    lower: float = 0.0
    upper: float = inf
    threshold: float = 0.0
    name: ClassVar[str] = "clamping"

    def __post_init__(self) -> None:
        if not self.lower <= self.upper or self.threshold < 0:
            raise ParameterError("lower must not exceed upper, and threshold must not be negative.")

    @classmethod
    def examples(cls, release: Release) -> "tuple[Clamping, ...]":
        """Cut at zero, and between two bounds with a threshold."""
        return (cls(), cls(lower=1.0, upper=8.0, threshold=3.0))

    def __call__(self, release: Release) -> Release:
        tables = []
        for table in release.tables:
            values = np.clip(table.values, self.lower, self.upper)
            small = (values > 0) & (values < self.threshold)
            values = np.where(small, np.where(2 * values < self.threshold, 0.0, self.threshold), values)
            tables.append(replace(table, values=values, is_unbiased=False))
        note = {
            "name": self.name,
            "lower": None if self.lower == -inf else self.lower,
            "upper": None if self.upper == inf else self.upper,
            "threshold": self.threshold,
            "intervals": "from the measured blocks, cut at the declared bounds",
        }
        return release.with_(tables=tuple(tables), adjustments=(*release.adjustments, note))
