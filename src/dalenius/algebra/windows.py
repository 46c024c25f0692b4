"""Where block estimates are winsorised: a public function of two released quartiles and of the declared range."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.rationals import plain

# The window reaches so many distances of the quartiles to either side: over five standard deviations if normal.
WIDENING = 4


def window(
    quartiles: Sequence[int] | IntArray, lower: Fraction, upper: Fraction, width: int
) -> tuple[Fraction, Fraction]:
    """The two ends, inside the declared range; quartiles are grid points that may coincide.

    >>> window([49, 51], Fraction(0), Fraction(10), 100)
    (Fraction(21, 5), Fraction(29, 5))
    """
    first, last = (int(point) for point in np.sort(np.asarray(quartiles, dtype=np.int64)))
    scale = (upper - lower) / width
    reach = WIDENING * max(last - first, 1) * scale
    middle = lower + Fraction(first + last, 2) * scale
    return max(middle - reach, lower), min(middle + reach, upper)


def window_of(parameters: Mapping[str, Any], quartiles: IntArray) -> dict[str, str]:
    """The grid of the second step, as its law would state it."""
    lower, upper = (Fraction(str(end)) for end in parameters["limits"])
    width = int(Fraction(str(parameters["high"])))
    low, high = window(quartiles, lower, upper, width)
    return {"origin": plain(low), "scale": plain((high - low) / width)}
