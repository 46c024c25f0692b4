"""Measured sums of rows as moments and back: what a model is fitted to, and what simulated rows would have measured.

Moments are about the public centres: the number of rows n, totals, and sums of squares and products. What was measured
are these, shifted and scaled by public numbers; both ways are linear and known to whoever holds a release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.algebra.estimates import ESTIMATES, Estimated, Parts
from dalenius.algebra.moments import Sums
from dalenius.core.law import FloatArray, Joint
from dalenius.core.release import Block

_SQUARES = {"squares": (0, 0), "squares of the other": (1, 1), "products": (0, 1)}


@dataclass(frozen=True, eq=False)
class MeasuredMoments:
    """What was measured for an estimate from one variable or two."""

    parameters: Mapping[str, Any]
    sums: Sums

    @classmethod
    def of(cls, law: Joint, blocks: Sequence[Block], cells: int) -> "MeasuredMoments":
        return cls(law.parameters, Sums.of(blocks, cells))

    @property
    def _parts(self) -> Parts:
        return Parts(self.parameters, self.sums)

    @property
    def has_squares(self) -> bool:
        """Whether a variance can be told."""
        return self._parts.has("squares")

    def estimate(self) -> Estimated:
        return ESTIMATES[str(self.parameters["estimate"])](self._parts)

    def fitted(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """n, means about the centres and covariances in each cell, without the bias that noise of the totals brings."""
        parts, has_other = self._parts, self._parts.has("products")
        count = parts.count()
        cells = max(len(count.values), self.sums.values.shape[1])
        n = np.broadcast_to(np.where(count.values >= 2, count.values, np.nan), (cells,))
        totals = [parts.total(), *([parts.raw("total of the other")] if has_other else [])]
        means = np.stack([np.broadcast_to(total.values, (cells,)) / n for total in totals], axis=1)
        covariance = np.zeros((cells, len(totals), len(totals)))
        for name, (i, j) in _SQUARES.items():
            if parts.has(name):
                noise = totals[i].covariance(totals[j]) / n**2
                value = parts.power(name).values / n - means[:, i] * means[:, j] + noise
                covariance[:, i, j] = covariance[:, j, i] = value * n / (n - 1)
        return n, means, covariance

    def arrays_of(self, n: FloatArray, totals: FloatArray, squares: FloatArray) -> FloatArray:
        """What rows with these moments would have measured without noise; other arrays are left as they are."""
        number = self._parts.number
        above = totals[..., 0] + (number("centre") - number("low")) * n
        made = {"above": above, "below": (number("high") - number("low")) * n - above, "count": n}
        if totals.shape[-1] > 1:
            made["total of the other"] = totals[..., 1]
        for name, (i, j) in _SQUARES.items():
            if max(i, j) < totals.shape[-1]:
                made[name] = squares[..., i, j] / number(f"{name} unit", 1) - number(f"{name} shift") * n
        shown = [
            number(f"{name} factor", 1) * made[name]
            if name in made
            else np.broadcast_to(self.sums.values[place], n.shape)
            for name, place in self._parts.places.items()
        ]
        return np.array(shown, dtype=np.float64)
