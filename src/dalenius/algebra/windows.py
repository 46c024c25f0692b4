"""Where block estimates are winsorised: a public function of two released quartiles and of the declared range."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.core.law import IntArray
from dalenius.core.release import Block

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


def with_window(law: EstimateLaw, quartiles: Block) -> EstimateLaw:
    """The law of the second step, on the grid that the released quartiles set."""
    lower, upper = (Fraction(end) for end in law.limits)
    width = law.ends["x"][1]
    low, high = window(quartiles.values, lower, upper, width)
    scale = (high - low) / width
    return replace(law, offset=low + law.centres["x"] * scale, scale=scale)
