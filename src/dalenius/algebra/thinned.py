"""Intervals for a count that is known through a secret sample: Binomial(count, fraction) plus noise.

The family rises stochastically with the count, so that inverting two one-sided tests gives intervals of at least the
stated confidence for every count, of sampling and noise together.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalenius.core.law import FloatArray, IntArray, Thinned
from dalenius.core.search import narrow_each

# Mass of the noise that is left out of the sums; it is taken from the level.
_LEFT_OUT = 1e-12


def chances(law: Thinned, values: IntArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """P(x <= value) and P(x >= value) for pairs of a measured value and a count."""
    from scipy.stats import binom

    points, mass = law.additive.central(_LEFT_OUT)
    sampled, total = values[:, None] - points, counts[:, None]
    below = binom.cdf(sampled, total, float(law.fraction)) @ mass
    above = binom.sf(sampled - 1, total, float(law.fraction)) @ mass
    return np.asarray(below), np.asarray(above)


def ends(law: Thinned, values: IntArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest count neither of whose tails excludes the measured value."""
    distinct, places = np.unique(values, return_inverse=True)
    tail = (1 - confidence) / 2 - _LEFT_OUT
    reach = 40 * np.sqrt(law.variance_at(distinct.astype(np.float64))) + 40
    most = np.ceil(np.maximum(distinct, 0) / float(law.fraction) + reach).astype(np.int64)
    upper = _last(lambda counts: chances(law, distinct, counts)[0] > tail, most)
    lower = _last(lambda counts: chances(law, distinct, counts)[1] <= tail, most) + 1
    # A value so low that no count explains it is explained best by none.
    upper = np.maximum(upper, lower)
    return lower[places].astype(np.float64), upper[places].astype(np.float64)


def _last(holds: Callable[[IntArray], NDArray[np.bool_]], most: IntArray) -> IntArray:
    """The last count of 0 … `most` at which a statement that holds up to some count holds; -1 where it never does."""
    none = np.full(len(most), -1, dtype=np.int64)
    return narrow_each(lambda counts: holds(np.maximum(counts, 0)), none, most + 1).inside
