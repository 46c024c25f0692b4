"""Whether the pair (P_s, P_-s) dominates every replacement inside [-s, s], for hidden Poisson(1) multiplicities.

P_u is sum_k Poisson(1)(k) N(k u, 1), in standard deviations of the noise. Replacing a value u by w, both at most s in
size, must be no easier to see than replacing -s by s.

Proof. Write H_g(P||Q) for the integral of (P - g Q)^+, g >= 1; g < 1 follows by symmetry.
1. w <= 0 <= u: the ratio rises along the line, so half-lines are the best events; P_u there grows with u and P_w
   shrinks as w falls.
2. 0 <= w < u <= s: term by term P_u <= P_w below zero, and P_w >= P_-s above it.
3. The same in the other order: H_g(P_w||P_u) <= R(g) + A(g) with
   R = int_{x<=0} (P_0 - g P_s)^+ and A = int_{x>0} phi(x) ((1 - g) p_0 + sum_{k > x/s} p_k (e^(x^2/2) - g min(1, e^(ksx
   - k^2 s^2/2))))^+.
   That R + A <= H_g(P_s||P_-s) is evaluated here at the actual s: both fall in g, so that R + A at one point of a grid
   is compared with H at the next. Beyond the grid R + A is below what a loss distribution counts as unbounded.
4. Negative values by reflection. On integers the same holds with sums in place of integrals.

Requires s <= 1: beyond it R + A is too weak, and nothing is claimed. Evaluated in floats, with a margin of a
thousandth.
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from dalenius.core.law import FloatArray
from dalenius.exact.resampled_loss import TAIL, poisson_weights

_LISTED = 500.0
_POINTS = 3000
_MARGIN = 1e-3


@lru_cache(maxsize=256)
def is_dominated(shift: Fraction, sigma_squared: Fraction) -> bool:
    """Whether the pair at this shift (half of the range that one unit's value has) is proved to be the worst."""
    sigma = sqrt(float(sigma_squared))
    s = float(shift) / sigma
    if shift * shift > sigma_squared:
        return False
    step = max(1.0, sigma / _LISTED) / sigma
    k = np.arange(len(poisson_weights()), dtype=np.float64)
    p = np.array(poisson_weights())
    x: FloatArray = np.arange(1, ceil((10 + 24 * s) / step) + 1, dtype=np.float64) * step
    left = np.append(-x[::-1], 0.0)
    left = left[left >= -12.0]
    # What stands before 1 and before g: in R below zero, in A above it.
    pairs = [(np.exp(-left * left / 2) / sqrt(2 * np.pi), _mixture(left, s, k, p)), _above_zero(x, s, k, p)]
    width = 1.0
    while _excess(pairs, np.array([width]))[0] * step > TAIL / 4:
        width *= 1.25
        if width > 4000:
            return False
    log_g = np.linspace(0.0, width, _POINTS)
    bound = _excess(pairs, log_g) * step
    whole = np.concatenate([left, x])
    truth = _excess([(_mixture(whole, s, k, p), _mixture(whole, -s, k, p))], log_g) * step
    # Where both are far below what is counted as unbounded, the comparison no longer matters.
    matters = bound[:-1] > TAIL / 4
    return bool(np.all(bound[:-1][matters] <= truth[1:][matters] * (1 - _MARGIN)))


def _mixture(x: FloatArray, shift: float, k: FloatArray, p: FloatArray) -> FloatArray:
    return np.exp(-((x[:, None] - k * shift) ** 2) / 2) @ p / sqrt(2 * np.pi)


def _above_zero(x: FloatArray, s: float, k: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What stands before 1 and before g in A."""
    phi = np.exp(-x * x / 2) / sqrt(2 * np.pi)
    is_far = k > x[:, None] / s
    first = phi * p[0] + (is_far * p).sum(axis=1) / sqrt(2 * np.pi)
    exponent = np.minimum(k * s * x[:, None] - (k * s) ** 2 / 2, 0.0)
    return first, phi * (p[0] + (is_far * p * np.exp(exponent)).sum(axis=1))


def _excess(pairs: list[tuple[FloatArray, FloatArray]], log_g: FloatArray) -> FloatArray:
    """sum (c - g d)^+ over all points, for many g at once: the points are sorted by c / d."""
    first = np.concatenate([c for c, _ in pairs])
    second = np.maximum(np.concatenate([d for _, d in pairs]), 1e-300)
    ratio = np.log(np.maximum(first, 1e-300)) - np.log(second)
    order = np.argsort(ratio)
    # Summed from the largest ratio down, so that small tails keep their digits.
    above, below = (np.append(np.cumsum(v[order][::-1])[::-1], 0.0) for v in (first, second))
    place = np.searchsorted(ratio[order], log_g, side="right")
    return np.asarray(np.maximum(above[place] - np.exp(log_g) * below[place], 0.0))
